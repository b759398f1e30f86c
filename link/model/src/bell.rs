//! A bell for models, in place of an eventfd: it stays struck until somebody hushes it.

use loom::sync::{Condvar, Mutex};

/// A thread that waits sleeps until it is struck. A stroke that nobody waits for is not lost.
pub struct Bell {
    is_struck: Mutex<bool>,
    struck: Condvar,
}

impl Default for Bell {
    fn default() -> Bell {
        Bell { is_struck: Mutex::new(false), struck: Condvar::new() }
    }
}

impl Bell {
    /// Wakes the thread that waits, or will. What unwinds after a fault was found wakes nobody.
    pub fn strike(&self) {
        if std::thread::panicking() {
            return;
        }
        *self.is_struck.lock().expect("no model panics under a lock") = true;
        self.struck.notify_one();
    }

    /// Takes the stroke back, if there was one.
    pub fn hush(&self) {
        *self.is_struck.lock().expect("no model panics under a lock") = false;
    }

    /// Sleeps until it is struck. It stays so.
    pub fn wait(&self) {
        let mut is_struck = self.is_struck.lock().expect("no model panics under a lock");
        while !*is_struck {
            is_struck = self.struck.wait(is_struck).expect("no model panics under a lock");
        }
    }
}
