//! A runtime of its own for each role, so that a heavy round of jobs does not keep a receiver waiting.
//!
//! Invariant: a role's tasks end with its runtime, without anyone waiting for them.

use std::num::NonZero;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::failure::Failure;

/// Threads named after a role, as many as there are processors.
#[derive(Debug)]
pub(super) struct RoleRuntime(Option<Runtime>);

impl RoleRuntime {
    /// Starts the threads.
    ///
    /// # Errors
    /// A system that has no threads to give.
    pub(super) fn start(role: &str) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, NonZero::get))
            .thread_name(role)
            .enable_all()
            .build()
            .map_err(|error| Failure::internal(format!("cannot start the threads of {role}: {error}")))?;
        Ok(Self(Some(runtime)))
    }

    /// Where the role's tasks are spawned.
    pub(super) fn handle(&self) -> Handle {
        self.0.as_ref().map_or_else(Handle::current, |runtime| runtime.handle().clone())
    }
}

impl Drop for RoleRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
