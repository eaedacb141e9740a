//! Planted bugs, for the tests of the checks: each is switched on by its name, one at a time, and must be caught by the
//! build. `docs/mutants.md` lists them.
//!
//! Only with the cargo feature `mutants`, which nothing but tests of this repository sets. Without it `planted!` is the
//! literal `false`, and neither the names nor the wrong code are compiled.

/// True where the planted bug of this name is switched on.
#[cfg(feature = "mutants")]
macro_rules! planted {
    ($mutant:ident) => {
        $crate::mutant::is_on($crate::mutant::Mutant::$mutant)
    };
}
#[cfg(not(feature = "mutants"))]
macro_rules! planted {
    ($mutant:ident) => {
        false
    };
}
pub(crate) use planted;

#[cfg(feature = "mutants")]
pub(crate) use table::is_on;
#[cfg(feature = "mutants")]
pub use table::selected;
#[cfg(feature = "mutants")]
pub use table::{Mutant, with};

#[cfg(feature = "mutants")]
mod table {
    use crate::error::{Error, Result};
    use std::cell::Cell;
    use std::sync::OnceLock;

    macro_rules! mutants {
        ($($mutant:ident $name:literal in $file:literal: $what:literal;)*) => {
            /// A planted bug.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Mutant {
                $(#[doc = $what] $mutant,)*
            }

            impl Mutant {
                /// All of them.
                pub const ALL: &[Mutant] = &[$(Mutant::$mutant,)*];

                /// What `LUMINAL_MUTANT` calls it.
                pub fn name(self) -> &'static str {
                    match self { $(Mutant::$mutant => $name,)* }
                }

                /// Where it is planted, from `luminal-core/src`.
                pub fn file(self) -> &'static str {
                    match self { $(Mutant::$mutant => $file,)* }
                }

                /// What is wrong.
                pub fn what(self) -> &'static str {
                    match self { $(Mutant::$mutant => $what,)* }
                }
            }
        };
    }

    mutants! {
        RuleFactor "rule-factor" in "search/algebra/rules.rs": "the rule `factor-const` forgets the factor of one operand";
        RuleGuard "rule-guard" in "search/algebra/rules.rs": "the rule `hoist-sum` fires without its condition";
        RuleNan "rule-nan" in "search/algebra/rules.rs": "the rule `max-range` takes an operand that may be NaN for a number";
        WeightLost "weight-lost" in "search/algebra/rules.rs": "the rule that folds a scale into a weight forgets the scale";
        PairingUnchecked "pairing-unchecked" in "search/cascade/derive.rs": "a maximum and a sum under different masks become one fold";
        DeferStream "defer-stream" in "search/cascade/derive.rs": "a factor that changes along the stream and with the maximum is applied after it";
        StateNotReset "state-not-reset" in "search/lower/fold.rs": "running values of a fold keep what the block before left";
        RepairMissing "repair-missing" in "search/lower/fold.rs": "a running sum is not repaired when the maximum grows";
        RepairInverted "repair-inverted" in "search/lower/fold.rs": "a running sum is repaired by the inverse of the ratio";
        RepairStale "repair-stale" in "search/lower/fold.rs": "the old maximum is kept after the new one has replaced it";
        EmptyRepaired "empty-repaired" in "search/lower/fold.rs": "a sum is repaired although no element has counted yet";
        EmptyUnguarded "empty-unguarded" in "search/lower/fold.rs": "a maximum of nothing but -inf is subtracted as it is";
        TransposedLoad "transposed-load" in "search/lower/expr.rs": "two indices of a square tensor are exchanged";
        GuardMissing "guard-missing" in "search/lower/expr.rs": "a load outside its tensor is not guarded";
        GuardTaken "guard-taken" in "search/lower/expr.rs": "a mask narrower than its tensor is taken for the guard of a load";
        SelectProduct "select-product" in "search/lower/expr.rs": "a selection is a product with 0 or 1";
        OrderReversed "order-reversed" in "compile/join.rs": "kernels run in reverse order";
        MaxFromZero "max-from-zero" in "kernel/lower/nest.rs": "a maximum starts from 0";
        TailUnmasked "tail-unmasked" in "kernel/lower/nest.rs": "the lanes behind the end of an axis are not masked";
        TailLost "tail-lost" in "kernel/lower/nest.rs": "what does not fill a tile is left out";
        PanelOverlap "panel-overlap" in "kernel/schedule/wish.rs": "panels of a packed weight overlap";
        LastTileLost "last-tile-lost" in "codegen/c/target.rs": "a loop over tiles stops before the last one";
        BlockMisplaced "block-misplaced" in "codegen/c/mod.rs": "the blocks of an axis are counted without the last, partial one";
        MaxLosesNan "max-loses-nan" in "codegen/c/target.rs": "a maximum whose first operand is NaN gives the second";
        CastWraps "cast-wraps" in "codegen/c/target.rs": "a cast of a large float to an integer does not saturate";
        RoundingDown "rounding-down" in "codegen/c/target.rs": "a cast to bf16 cuts bits off instead of rounding";
        ModTruncated "mod-truncated" in "codegen/c/target.rs": "a remainder has the sign of the dividend";
        OrderIgnored "order-ignored" in "compile/units.rs": "a reader takes a tensor to be row-major, whatever its producer chose";
        LifeShort "life-short" in "compile/assemble.rs": "memory of an intermediate is used again before its last reader";
        StateEarly "state-early" in "compile/assemble.rs": "a new state replaces the old one before all have read that";
        RegionsAlike "regions-alike" in "compile/mod.rs": "regions that differ in their constants count as one";
    }

    thread_local! {
        static SELECTED: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    /// Runs some work with a bug switched on, in this thread.
    pub fn with<T>(mutant: Option<Mutant>, work: impl FnOnce() -> T) -> T {
        struct Restored(Option<Mutant>);
        impl Drop for Restored {
            fn drop(&mut self) {
                SELECTED.set(self.0);
            }
        }
        let _restored = Restored(SELECTED.replace(mutant));
        work()
    }

    pub(crate) fn is_on(mutant: Mutant) -> bool {
        SELECTED.get() == Some(mutant) || named() == Some(mutant.name())
    }

    /// What `LUMINAL_MUTANT` says, if it is not empty.
    fn named() -> Option<&'static str> {
        static NAMED: OnceLock<Option<String>> = OnceLock::new();
        let read = || std::env::var("LUMINAL_MUTANT").ok().filter(|name| !name.is_empty());
        NAMED.get_or_init(read).as_deref()
    }

    /// The bug that the environment variable `LUMINAL_MUTANT` switches on.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn selected() -> Result<Option<Mutant>> {
        let Some(name) = named() else { return Ok(None) };
        let found = Mutant::ALL.iter().copied().find(|mutant| mutant.name() == name);
        let unknown = || Error::new(format!("LUMINAL_MUTANT={name}: there is no planted bug of that name"));
        found.map(Some).ok_or_else(unknown)
    }
}
