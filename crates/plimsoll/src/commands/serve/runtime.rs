//! A runtime of its own for each role, so that a heavy round of jobs does not keep a receiver waiting.
//!
//! Invariant: a role's tasks end with its runtime, without anyone waiting for them.

use std::num::NonZero;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::{
    failure::Failure,
    settings::{Role, Roles},
};

/// The threads of each role that a process has, as many as there are processors.
#[derive(Debug, Default)]
pub(super) struct Runtimes(Vec<Runtime>);

impl Runtimes {
    /// Starts the threads of a role and gives where its tasks are spawned; none where the process does not
    /// have the role.
    ///
    /// # Errors
    /// A system that has no threads to give.
    pub(super) fn start(&mut self, role: Role, roles: &Roles) -> Result<Option<Handle>, Failure> {
        if !roles.has(role) {
            return Ok(None);
        }
        let name = role.name();
        let runtime = Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, NonZero::get))
            .thread_name(name)
            .enable_all()
            .build()
            .map_err(|error| Failure::internal(format!("cannot start the threads of {name}: {error}")))?;
        let handle = runtime.handle().clone();
        self.0.push(runtime);
        Ok(Some(handle))
    }
}

impl Drop for Runtimes {
    fn drop(&mut self) {
        for runtime in self.0.drain(..) {
            runtime.shutdown_background();
        }
    }
}
