//! Matching rules, installed and removed while packets flow.

use super::{ContextId, Driver, DriverError, OPERATOR, RuleId, TenantId};
use crate::experiment::engine::{self, EngineError};
use crate::handlers::rules::Rule;
use pspin::delivery::DropReason;
use pspin::protocol::Kill;
use wire::expr::Matcher;
use wire::message::{Classifier, MessageSpec};
use wire::rule_set::RuleSet;

/// A tenant's request for a rule, which sends packets to a context.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleSpec {
    /// Packets that it takes, as a match expression; all that its tenant may have if not given.
    pub matches: Option<String>,
    /// The definition of a message, as in [`wire::message`].
    pub message: String,
    /// Rules of higher priority are tested first; of equal ones, the older first.
    pub priority: i32,
    /// Packets and messages for a card whose match engine has rule sets, instead of `matches` and `message`.
    pub rule_set: Option<RuleSet>,
}

impl Default for RuleSpec {
    /// All packets, each a message of its own.
    fn default() -> Self {
        RuleSpec { matches: None, message: "each".into(), priority: 0, rule_set: None }
    }
}

/// Treatment of open messages when their rule is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Remaining {
    /// Their packets are taken until the last.
    End,
    /// The card drops the packets of these messages, and later ones bypass the handlers.
    Kill,
}

/// A rule that is installed.
pub(super) struct Installed {
    pub context: ContextId,
    matcher: Option<Matcher>,
    priority: i32,
}

impl Driver {
    /// Sends packets to a context from the next cycle on. It first simulates until all earlier writes have reached the
    /// card.
    pub fn install(&mut self, tenant: TenantId, context: ContextId, spec: &RuleSpec) -> Result<RuleId, DriverError> {
        let (matcher, message) = self.understood(spec)?;
        if message.needs_index() {
            let allowed = "one that says what ends a message: `last` needs traffic that is known before".into();
            return Err(DriverError::Value { what: "message", found: format!("`{}`", spec.message), allowed });
        }
        self.install_classified(tenant, context, matcher, spec.priority, Classifier::new(message))
    }

    /// Parses the packets and messages of a rule, and checks them against the card's match engine.
    fn understood(&self, spec: &RuleSpec) -> Result<(Option<Matcher>, MessageSpec), DriverError> {
        let matcher = spec.matches.as_deref().map(Matcher::parse).transpose()?;
        let message = MessageSpec::parse(&spec.message)?;
        let Some(limits) = engine::limits(&self.params) else {
            return if spec.rule_set.is_some() { Err(EngineError::NoEngine.into()) } else { Ok((matcher, message)) };
        };
        let is_said = matcher.is_some() || message != MessageSpec::Each;
        let allowed = self.params.ingress.rule_sets;
        match &spec.rule_set {
            Some(_) if is_said => Err(EngineError::Both.into()),
            None if is_said => Err(EngineError::Expression.into()),
            _ if self.rules.all().count() >= allowed as usize => Err(EngineError::TooMany { allowed }.into()),
            Some(set) => set.compile(limits).map(|(matcher, message)| (Some(matcher), message)).map_err(Into::into),
            None => Ok((None, MessageSpec::Each)),
        }
    }

    /// The same with parsed texts.
    pub(crate) fn install_classified(
        &mut self,
        tenant: TenantId,
        context: ContextId,
        matcher: Option<Matcher>,
        priority: i32,
        classifier: Classifier,
    ) -> Result<RuleId, DriverError> {
        self.contexts.get(tenant, context)?;
        let text = |matcher: &Option<Matcher>| matcher.as_ref().map(ToString::to_string);
        let twin = self.rules.all().find(|(.., other)| {
            other.context == context && other.priority == priority && text(&other.matcher) == text(&matcher)
        });
        if let Some((rule, ..)) = twin {
            return Err(DriverError::Installed { rule: rule.to_string(), context: context.to_string() });
        }
        self.settle()?;
        let scope = self.tenants.get(OPERATOR, tenant)?.scope.clone();
        let built = self.contexts.get(tenant, context)?;
        let (context_idx, nic_context, copy_bytes) = (built.idx, built.context.clone(), built.copy_bytes);
        let id = self.rules.add(tenant, Installed { context, matcher: matcher.clone(), priority });
        self.feed.borrow_mut().rules.install(Rule {
            id: id.0,
            tenant: tenant.0,
            context_idx,
            priority,
            scope,
            matcher,
            classifier,
            context: nic_context,
            copy_bytes,
        });
        self.update_tenant_count();
        Ok(id)
    }

    /// Tells the card the number of tenants with rules.
    fn update_tenant_count(&mut self) {
        let mut tenants: Vec<u64> = self.rules.all().map(|(_, tenant, _)| tenant.0).collect();
        tenants.sort_unstable();
        tenants.dedup();
        let n = tenants.len() as u32;
        if n != std::mem::replace(&mut self.n_served, n) {
            self.nic.serve_tenants(n);
        }
    }

    /// Removes a rule from the next cycle on: it begins no new message, and open messages end or are killed. Messages
    /// that were allowed to end can still be killed later.
    pub fn remove(&mut self, tenant: TenantId, rule: RuleId, remaining: Remaining) -> Result<(), DriverError> {
        let context = self.take_out(tenant, rule, remaining)?;
        self.update_tenant_count();
        let mut feed = self.feed.borrow_mut();
        match remaining {
            Remaining::End => {
                feed.rules.end(rule.0);
                self.ending.insert(rule, (tenant, context));
                self.ending.retain(|rule, _| feed.rules.has(rule.0));
            }
            Remaining::Kill => {
                feed.rules.remove(rule.0);
                let built = self.contexts.get(tenant, context)?;
                let (context, error_addr) = (context.0 as u32, built.context.protection.error_addr);
                for msgid in feed.ids.abandon(rule.0) {
                    let kill = Kill { msgid, reason: DropReason::MessageKilled, context, error_addr };
                    self.nic.kill_message(self.at + 1, kill);
                    feed.ids.release(msgid);
                }
            }
        }
        Ok(())
    }

    /// Removes a rule from the installed ones, or, to kill its messages, from those that are ending.
    fn take_out(&mut self, tenant: TenantId, rule: RuleId, remaining: Remaining) -> Result<ContextId, DriverError> {
        if remaining == Remaining::Kill
            && let Some(&(owner, context)) = self.ending.get(&rule)
            && owner == tenant
            && self.feed.borrow().rules.has(rule.0)
        {
            self.ending.remove(&rule);
            return Ok(context);
        }
        Ok(self.rules.remove(tenant, rule)?.context)
    }
}
