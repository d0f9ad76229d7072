//! Registration of every function with a session.

use super::{assemble, catalog_row, in_flight, meter, naming, percentiles, profile, run_key, time};
use std::sync::Arc;

use datafusion::prelude::SessionContext;

use crate::policy::Policy;

/// Registers every function with a session; what they decide by is in `policy`.
pub(crate) fn register(ctx: &SessionContext, policy: &Arc<Policy>) {
    ctx.register_udaf(percentiles::udaf());
    ctx.register_udaf(profile::udaf());
    ctx.register_udaf(in_flight::udaf());
    ctx.register_udaf(assemble::udaf());
    ctx.register_udf(catalog_row::udf(policy));
    ctx.register_udf(meter::udf(policy));
    ctx.register_udf(naming::udf(policy));
    ctx.register_udf(run_key::udf(policy));
    for udf in time::udfs(&policy.time_zone) {
        ctx.register_udf(udf);
    }
}
