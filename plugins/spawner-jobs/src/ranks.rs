//! How many processes of MPI's run a call, by what its job's programs are told of modules: a job
//! asks for as many tasks, so that has to be known before there is one. Pure.

use std::collections::BTreeMap;

use farcall_base::Result;
use farcall_services::spawner::{RANKS_MAX, ranks};
use serde::Deserialize;

/// What concerns ranks among the options of spawner-local, which programs of jobs are given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct RanksRules {
    limits: Limits,
    modules: BTreeMap<String, Limits>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct Limits {
    ranks: Option<u32>,
    ranks_max: Option<u32>,
}

impl RanksRules {
    /// The number for a module of which its caller or its interface asks for `asked`; 0 if they do
    /// not.
    pub(crate) fn of(&self, module: &str, asked: u32) -> Result<u32> {
        let own = self.modules.get(module);
        let said = |key: fn(&Limits) -> Option<u32>| own.and_then(key).or(key(&self.limits));
        let most = said(|limits| limits.ranks_max).unwrap_or(RANKS_MAX);
        ranks(
            asked,
            said(|limits| limits.ranks).unwrap_or(0),
            if most == 0 { u32::MAX } else { most },
        )
    }
}
