//! Spans on their way out, grouped as exporters group them.
//!
//! One resource a service and one scope a library, in a fixed order, as a collector would batch what
//! several SDKs send it.

use std::collections::BTreeMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};

use super::attributes::Attributes;
use crate::file::{Scenario, Workflow};

/// The version of the conventions that the attributes follow.
const SCHEMA: &str = "https://opentelemetry.io/schemas/1.41.0";

/// Which library made a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    /// The agent framework: runs, agents, tools, retrievals.
    Agent,
    /// The client of the pool of that index.
    Client(usize),
}

/// The spans of the next request.
#[derive(Debug)]
pub(crate) struct Batch {
    resources: Vec<Resource>,
    clients: Vec<InstrumentationScope>,
    /// Service of each workflow: workflows of one service share its resource.
    service_of: Vec<usize>,
    spans: BTreeMap<(usize, Scope), Vec<Span>>,
    len: usize,
}

impl Batch {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let workflows = &scenario.workflows;
        let service =
            |name: &String| workflows.iter().position(|workflow| &workflow.service == name).unwrap_or(0);
        Self {
            resources: workflows.iter().map(|workflow| resource(workflow)).collect(),
            clients: scenario.pools.iter().map(|pool| scope(&pool.scope, &pool.scope_version)).collect(),
            service_of: workflows.iter().map(|workflow| service(&workflow.service)).collect(),
            spans: BTreeMap::new(),
            len: 0,
        }
    }

    /// Spans in it.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a span of a workflow.
    pub(crate) fn add(&mut self, workflow: usize, scope: Scope, span: Span) {
        self.spans.entry((self.service_of[workflow], scope)).or_default().push(span);
        self.len += 1;
    }

    /// The request, where there is anything to send.
    pub(crate) fn take(&mut self) -> Option<ExportTraceServiceRequest> {
        self.len = 0;
        let mut resource_spans: Vec<(usize, ResourceSpans)> = Vec::new();
        for ((service, library), spans) in std::mem::take(&mut self.spans) {
            let scope = match library {
                Scope::Agent => scope("opentelemetry.util.genai", "1.3b0"),
                Scope::Client(pool) => self.clients[pool].clone(),
            };
            let scope_spans = ScopeSpans { scope: Some(scope), spans, schema_url: SCHEMA.to_owned() };
            match resource_spans.last_mut() {
                Some((last, group)) if *last == service => group.scope_spans.push(scope_spans),
                _ => {
                    let resource = Some(self.resources[service].clone());
                    let group = ResourceSpans {
                        resource,
                        scope_spans: vec![scope_spans],
                        schema_url: SCHEMA.to_owned(),
                    };
                    resource_spans.push((service, group));
                }
            }
        }
        let resource_spans: Vec<_> = resource_spans.into_iter().map(|(_, group)| group).collect();
        (!resource_spans.is_empty()).then_some(ExportTraceServiceRequest { resource_spans })
    }
}

fn scope(name: &str, version: &str) -> InstrumentationScope {
    InstrumentationScope {
        name: name.to_owned(),
        version: version.to_owned(),
        ..InstrumentationScope::default()
    }
}

fn resource(workflow: &Workflow) -> Resource {
    let mut attributes = Attributes::with_capacity(9);
    attributes.text("service.name", &workflow.service);
    attributes.text("service.version", &workflow.service_version);
    attributes.text("deployment.environment.name", &workflow.environment);
    attributes.text("cloud.provider", &workflow.cloud.provider);
    attributes.text("cloud.region", &workflow.cloud.region);
    attributes.text("cloud.account.id", &workflow.cloud.account);
    attributes.text("telemetry.sdk.language", "python");
    attributes.text("telemetry.sdk.name", "opentelemetry");
    attributes.text("telemetry.sdk.version", "1.45.2");
    Resource { attributes: attributes.into_inner(), ..Resource::default() }
}
