//! Empty: this package only names a dependency.
