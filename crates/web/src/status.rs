//! What the web port needs to know of the process.

/// The state of a serving process, asked anew for every request.
pub trait Status: Send + Sync + 'static {
    /// Whether the process can still do its work without a restart.
    fn alive(&self) -> bool;

    /// Why it takes no requests now; none where it does.
    fn not_ready(&self) -> Option<String>;

    /// Metrics in the text format that Prometheus reads.
    fn metrics(&self) -> String;
}
