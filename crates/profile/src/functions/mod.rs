//! The SQL functions that Plimsoll brings: exact percentiles, assembly of runs, names by match
//! rules, metering by the catalog, and time in the business time zone.

mod assemble;
mod assembled;
mod meter;
mod naming;
mod percentiles;
mod span_view;
mod time;

use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::policy::Policy;

pub(crate) use time::{instant, local_window};

/// Registers every function with a session; what they decide by is in `policy`.
pub(crate) fn register(ctx: &SessionContext, policy: &Arc<Policy>) {
    ctx.register_udaf(percentiles::udaf());
    ctx.register_udaf(assemble::udaf());
    ctx.register_udf(meter::udf(policy));
    ctx.register_udf(naming::udf(policy));
    for udf in time::udfs(&policy.time_zone) {
        ctx.register_udf(udf);
    }
}
