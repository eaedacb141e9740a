//! Tests of what tracing records.
