//! PTX rendering and interpretation.
