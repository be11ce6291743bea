//! The border to C, which no panic crosses: nginx would be killed, its master at a reload.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Return what `work` returns, or `otherwise` when it panics; the panic's message is on standard error.
#[inline]
pub fn guard<T>(otherwise: T, work: impl FnOnce() -> T) -> T {
    // Nothing that `work` may leave half done is used afterwards but atomic numbers.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::guard;

    extern "C" fn entry(panics: bool) -> i32 {
        guard(-1, || {
            assert!(!panics, "a panic that this test makes");
            0
        })
    }

    #[test]
    fn a_panic_becomes_the_value_for_failure() {
        assert_eq!((entry(false), entry(true)), (0, -1));
    }

    #[test]
    fn every_function_for_c_is_guarded() {
        let source = include_str!("abi.rs");
        let functions: Vec<&str> = source.split("extern \"C\" fn ").skip(1).collect();
        assert_eq!(functions.len(), 5);
        for function in functions {
            let (_, body) = function.split_once("{\n").expect("a body");
            assert!(
                body.trim_start().starts_with("guard("),
                "not guarded: {function}"
            );
        }
    }
}
