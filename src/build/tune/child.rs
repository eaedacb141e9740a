//! A child process that runs what may crash or never end: candidates that nobody has run before.
//!
//! The child is a fork: it sees kernels, expected results and loaded libraries as they are, and tells what happens line by
//! line through a pipe. Only where processes can be forked; elsewhere nothing is measured.

use std::time::Duration;

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Its work was done.
    Finished,
    /// It crashed: by this signal, or with this exit code.
    Crashed(i32),
    /// It said nothing for too long and was stopped.
    Silent,
}

/// True if there are children.
pub(super) const IS_POSSIBLE: bool = cfg!(unix);

/// Runs `work` in a child, which says lines; each is passed to `hear`. A child that says nothing for `patience` is stopped.
#[cfg(unix)]
pub(super) fn run(
    patience: Duration,
    work: impl FnOnce(&mut dyn FnMut(&str)),
    mut hear: impl FnMut(&str),
) -> std::io::Result<End> {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    let (mut reader, mut writer) = std::io::pipe()?;
    // SAFETY: the child runs on with a copy of this thread alone. It takes no lock that another thread may have held: build
    // scripts have no other threads here, compilers are processes that have ended. It leaves by `_exit`, so that nothing of
    // the parent is flushed or dropped twice.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Err(std::io::Error::last_os_error()),
        0 => {
            drop(reader);
            let mut say = |line: &str| {
                // If the parent is gone there is nobody to measure for.
                if writer.write_all(format!("{line}\n").as_bytes()).is_err() {
                    // SAFETY: ends the child.
                    unsafe { libc::_exit(1) }
                }
            };
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work(&mut say)));
            // SAFETY: ends the child.
            unsafe { libc::_exit(if done.is_ok() { 0 } else { 101 }) }
        }
        _ => drop(writer),
    }
    let mut text = Vec::new();
    let mut silent = false;
    loop {
        let mut poll = libc::pollfd { fd: reader.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, which is open.
        match unsafe { libc::poll(&raw mut poll, 1, milliseconds) } {
            0 => {
                silent = true;
                break;
            }
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => continue,
            -1 => break,
            _ => {}
        }
        let mut part = [0; 4096];
        match reader.read(&mut part) {
            Ok(0) | Err(_) => break,
            Ok(count) => text.extend_from_slice(&part[..count]),
        }
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            hear(String::from_utf8_lossy(&line[..end]).as_ref());
        }
    }
    if silent {
        // SAFETY: our own child, which has not been waited for.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
    let mut status = 0;
    // SAFETY: our own child, waited for once.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } == -1 {
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(match status {
        _ if silent => End::Silent,
        0 => End::Finished,
        status if libc::WIFSIGNALED(status) => End::Crashed(libc::WTERMSIG(status)),
        status => End::Crashed(libc::WEXITSTATUS(status)),
    })
}

/// There are no children here.
#[cfg(not(unix))]
pub(super) fn run(
    _: Duration,
    _: impl FnOnce(&mut dyn FnMut(&str)),
    _: impl FnMut(&str),
) -> std::io::Result<End> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn ended(patience: u64, work: impl FnOnce(&mut dyn FnMut(&str))) -> (End, Vec<String>) {
        let mut heard = vec![];
        let end = run(Duration::from_millis(patience), work, |line| heard.push(line.to_string())).unwrap();
        (end, heard)
    }

    #[test]
    fn lines_arrive_in_order() {
        let (end, heard) = ended(60_000, |say| (0..500).for_each(|i| say(&format!("line {i}"))));
        assert_eq!(end, End::Finished);
        assert_eq!(heard.len(), 500);
        assert_eq!(heard[499], "line 499");
    }

    #[test]
    fn what_was_said_before_a_crash_is_heard() {
        let (end, heard) = ended(60_000, |say| {
            say("before");
            // By a signal, as a wrong kernel does.
            std::process::abort();
        });
        assert_eq!((end, heard), (End::Crashed(libc::SIGABRT), vec!["before".to_string()]));
        let (end, _) = ended(60_000, |_| std::panic::resume_unwind(Box::new("a panic without a message")));
        assert_eq!(end, End::Crashed(101));
    }

    #[test]
    fn a_child_that_says_nothing_is_stopped() {
        let (end, heard) = ended(50, |say| {
            say("before");
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        });
        assert_eq!((end, heard), (End::Silent, vec!["before".to_string()]));
    }
}
