//! `terminal.*`: one function per method, parameters in, a result out.

use std::sync::Arc;

use trl_core::terminal::Terminal;
use trl_core::terminal::spec::checked_size;
use trl_core::workspace::checked_id;
use trl_proto::terminal::{
    CreateParams, DestroyParams, InputParams, InputTaken, ListParams, ResizeParams, Screen, ScreenCursor,
    ScreenFormat, ScreenParams, SignalParams, Signalled, Snapshot, SnapshotParams, TerminalInfo,
    TerminalList, TerminalParams,
};
use trl_proto::text::decode;
use trl_proto::{Error, TerminalId, Text};
use trl_screen::Key;

use super::files::Doing;
use super::rpc::Call;

/// What a terminal sends for these keys in the modes its program has set by now.
async fn pressed(terminal: &Terminal, names: &[String]) -> Result<Vec<u8>, Error> {
    let keys: Vec<Key> =
        names.iter().map(|name| name.parse()).collect::<Result<_, _>>().map_err(Error::invalid)?;
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    terminal.model.reach_now().await;
    let modes = terminal.model.look(|screen| screen.modes());
    Ok(keys.iter().flat_map(|key| key.encode(&modes)).collect())
}

impl Call<'_> {
    fn terminal(&self, id: &TerminalId) -> Result<Arc<Terminal>, Error> {
        self.principal.terminal(self.manager(), id)
    }

    pub(super) async fn create_terminal(&self) -> Result<TerminalInfo, Error> {
        let mut params: CreateParams = self.request.params()?;
        // To a terminal the workspace is a group first; a directory is not made for it.
        if let (Some(id), None) = (&params.workspace_id, &params.working_dir)
            && checked_id(id).is_ok()
        {
            params.working_dir = self.dir_in_workspace(id, Doing::Looking).await?;
        }
        Ok(self.manager().create_terminal(params, &self.caller()).await?.info())
    }

    pub(super) fn list_terminals(&self) -> Result<TerminalList, Error> {
        let params: ListParams = self.request.params()?;
        let all = self.manager().list_terminals(&params).into_iter();
        let seen = all.filter(|t| self.principal.may_see_terminal(t));
        Ok(TerminalList { terminals: seen.map(|t| t.info()).collect() })
    }

    pub(super) fn get_terminal(&self) -> Result<TerminalInfo, Error> {
        let params: TerminalParams = self.request.params()?;
        Ok(self.terminal(&params.terminal_id)?.info())
    }

    pub(super) async fn type_into_terminal(&self) -> Result<InputTaken, Error> {
        let params: InputParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        if params.data.is_none() && params.keys.is_none() {
            return Err(Error::invalid("`data` or `keys` is needed"));
        }
        let mut bytes = decode(params.data.unwrap_or_default(), params.encoding.unwrap_or_default())?;
        bytes.extend(pressed(&terminal, &params.keys.unwrap_or_default()).await?);
        let written_bytes = bytes.len() as u64;
        terminal.input(bytes).await?;
        Ok(InputTaken { terminal_id: params.terminal_id, written_bytes })
    }

    pub(super) async fn resize_terminal(&self) -> Result<TerminalInfo, Error> {
        let params: ResizeParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        terminal.resize(checked_size(params.cols, params.rows)?).await?;
        Ok(terminal.info())
    }

    pub(super) async fn signal_terminal(&self) -> Result<Signalled, Error> {
        let params: SignalParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        let signal = trl_core::manager::parse_signal(&params.signal)?;
        Ok(Signalled { terminal_id: params.terminal_id, processes: terminal.signal(signal).await? })
    }

    pub(super) async fn terminal_snapshot(&self) -> Result<Snapshot, Error> {
        let params: SnapshotParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        terminal.model.reach_now().await;
        let lines = params.history_lines.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
        let resume = terminal.snapshot(lines);
        let bytes = resume.snapshot.unwrap_or_default();
        let Text { data, encoding } = Text::exact(&bytes);
        Ok(Snapshot {
            terminal_id: params.terminal_id,
            generation: terminal.generation.clone(),
            offset: resume.place.offset,
            cols: resume.size.cols,
            rows: resume.size.rows,
            data: data.into_owned(),
            encoding,
        })
    }

    pub(super) async fn terminal_screen(&self) -> Result<Screen, Error> {
        let params: ScreenParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        terminal.model.reach_now().await;
        let working_dir = terminal.public().cwd.clone();
        let format = params.format.unwrap_or_default();
        terminal.model.look(|screen| {
            let view = screen.cells();
            let (cols, rows) = screen.size();
            let text = match format {
                ScreenFormat::Text => Some(screen.text()),
                ScreenFormat::Ansi => Some(screen.ansi()),
                ScreenFormat::Json => None,
            };
            let lines = match format {
                ScreenFormat::Json => {
                    Some(serde_json::to_value(&view.lines).map_err(|e| Error::internal(e.to_string()))?)
                }
                _ => None,
            };
            Ok(Screen {
                terminal_id: params.terminal_id,
                offset: screen.offset(),
                cols,
                rows,
                title: screen.title().into(),
                working_dir,
                alternate: screen.is_alternate(),
                cursor: ScreenCursor { col: view.cursor.x, row: view.cursor.y, visible: view.cursor.visible },
                text,
                lines,
            })
        })
    }

    pub(super) async fn destroy_terminal(&self) -> Result<TerminalInfo, Error> {
        let params: DestroyParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        self.manager().destroy_terminal(&terminal, params.grace_s).await?;
        Ok(terminal.info())
    }

    pub(super) async fn keep_terminal(&self) -> Result<TerminalInfo, Error> {
        let params: TerminalParams = self.request.params()?;
        let terminal = self.terminal(&params.terminal_id)?;
        self.manager().keep_terminal(&terminal).await?;
        Ok(terminal.info())
    }
}
