//! `runtime.*`: one function per method, parameters in, a result out.

use trl_core::manager::Leaving;
use trl_proto::runtime::{
    RuntimeHealth, RuntimeInfo, RuntimeList, RuntimeParams, RuntimeRemoveParams, RuntimeRemoved, RuntimeSpec,
};
use trl_proto::system::NoParams;
use trl_proto::{Error, Role};

use super::rpc::Call;

impl Call<'_> {
    pub(super) fn list_runtimes(&self) -> Result<RuntimeList, Error> {
        let NoParams {} = self.request.params()?;
        let all = self.manager().runtimes().into_iter();
        let seen =
            all.filter(|info| self.principal.sees_runtime(info.spec.name.as_deref().unwrap_or_default()));
        Ok(RuntimeList { runtimes: seen.map(|info| self.shown(info)).collect() })
    }

    pub(super) fn get_runtime(&self) -> Result<RuntimeInfo, Error> {
        let RuntimeParams { name } = self.request.params()?;
        self.principal.may_use_runtime(&name)?;
        Ok(self.shown(self.manager().runtime(&name)?))
    }

    pub(super) async fn runtime_health(&self) -> Result<RuntimeHealth, Error> {
        let RuntimeParams { name } = self.request.params()?;
        self.principal.may_use_runtime(&name)?;
        let health = self.manager().runtime_health(&name).await?;
        Ok(if self.sees_how() { health } else { health.for_users() })
    }

    pub(super) fn add_runtime(&self) -> Result<RuntimeInfo, Error> {
        let mut spec: RuntimeSpec = self.request.params()?;
        let name = spec.name.take().ok_or_else(|| Error::invalid("`name` is needed"))?;
        let runtime = self.manager().engine.runtimes.add(&name, spec)?;
        tracing::info!(runtime = name, kind = ?runtime.spec.kind, "a runtime was added");
        Ok(runtime.info())
    }

    pub(super) async fn remove_runtime(&self) -> Result<RuntimeRemoved, Error> {
        let params: RuntimeRemoveParams = self.request.params()?;
        let leaving = match (params.drain, params.force) {
            (Some(true), Some(true)) => {
                return Err(Error::invalid("`drain` and `force` exclude each other")
                    .hint("one waits for its sessions, the other closes them"));
            }
            (Some(true), _) => Leaving::Drained,
            (_, Some(true)) => Leaving::Forced,
            _ => Leaving::Empty,
        };
        let (info, removed) = self.manager().remove_runtime(&params.name, leaving).await?;
        Ok(RuntimeRemoved { removed, info })
    }

    fn shown(&self, info: RuntimeInfo) -> RuntimeInfo {
        if self.sees_how() { info } else { info.for_users() }
    }

    /// How a runtime is reached is for those who could change it.
    fn sees_how(&self) -> bool {
        self.principal.role() == Role::Operator
    }
}
