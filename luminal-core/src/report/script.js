// A link to a kernel unfolds nothing by itself; buttons fold and unfold all.
for (const button of document.querySelectorAll("button[data-open]")) {
  button.addEventListener("click", () => {
    for (const fold of document.querySelectorAll("#kernels details")) fold.open = button.dataset.open !== "";
  });
}
