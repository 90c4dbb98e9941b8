//! `system.doctor` and `system.log`: what a daemon knows beside what any process could find out.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trl_core::doctor::{machine, places, records, tools};
use trl_core::manager::{Caller, Judging};
use trl_proto::doctor::{Diagnosis, Finding, Health, LogLines, LogParams};
use trl_proto::exec::RunParams;
use trl_proto::runtime::{HOST, RuntimeWish};
use trl_proto::sandbox::Mode;
use trl_proto::system::NoParams;
use trl_proto::{Dialect, Error};

use super::rpc::Call;
use crate::logging;

impl Call<'_> {
    pub(super) async fn doctor(&self) -> Result<Diagnosis, Error> {
        let NoParams {} = self.request.params()?;
        let server = &self.client.server;
        let engine = &self.manager().engine;
        let mut rows = machine::features();
        rows.push(machine::sandbox(engine.settings.sandbox_mode));
        rows.push(machine::limits(&engine.caging.standing()));
        rows.push(machine::disk_quota());
        rows.extend(self.programs().await);
        rows.push(places::runtime_dir(engine.place.dir()));
        rows.push(places::private_dir("data_dir", "Data directory", &server.data_dir));
        let unsaved = engine.counters.checkpoints_unsaved.load(Ordering::Relaxed);
        rows.push(records::store(engine.store.as_ref(), engine.records.tally(), unsaved).await);
        rows.push(records::retention(engine.settings.history_age, engine.settings.history_bytes));
        rows.push(places::descriptors(engine.open_files.usable));
        rows.push(places::memory(engine.settings.min_free_memory_bytes));
        let known = self.manager().runtimes().into_iter();
        let seen = known.filter_map(|info| Some((info.spec.name?, info.state)));
        rows.push(places::runtimes(seen.filter(|(name, _)| self.principal.sees_runtime(name))));
        rows.push(machine::approval_boundary(engine.settings.sandbox_mode));
        Ok(Diagnosis::of(env!("CARGO_PKG_VERSION"), rows))
    }

    /// The daemon never forks: it asks as its clients do, with a command.
    async fn programs(&self) -> Vec<Finding> {
        let caller = Caller { name: Arc::from("doctor"), judging: Judging::Exempt, ..self.caller() };
        let params = RunParams {
            command: tools::SCRIPT.into(),
            timeout_s: Some(tools::LIMIT.as_secs_f64()),
            // a script of ours, which looks at what is outside
            sandbox: Some(Mode::Off.into()),
            // about this machine, wherever sessions live
            runtime: Some(RuntimeWish::Named(HOST.into())),
            ..RunParams::default()
        };
        let ran = async {
            let execution = self.manager().submit(params, &caller).await?;
            let finished = execution.wait().await?;
            let printed = finished.result(&execution, Dialect::Plain).stdout;
            self.manager().forget(&execution);
            Ok::<_, Error>(printed)
        };
        match ran.await {
            Ok(printed) => tools::findings(&printed),
            Err(error) => {
                let row =
                    Finding::new("shell.sh", "sh", Health::Bad, format!("a command cannot be run: {error}"));
                vec![row]
            }
        }
    }

    pub(super) fn log(&self) -> Result<LogLines, Error> {
        let params: LogParams = self.request.params()?;
        let mut lines = logging::recent();
        let most = params.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        lines.drain(..lines.len().saturating_sub(most));
        Ok(LogLines { lines })
    }
}
