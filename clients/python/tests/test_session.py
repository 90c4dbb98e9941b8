"""Sessions, terminals and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from trl_client import Client, FileNotFound, SessionBusy, SessionNotFound, SessionTerminated, TrlError


def test_the_state_of_a_session_stays(client: Client) -> None:
    with client.session(shell="bash", name="work", labels={"a": "b"}) as session:
        session.run("cd /usr && export WHO=me && f() { echo f $1; }").check()
        assert session.run("echo $WHO in $PWD; f x").text == "me in /usr\nf x\n"
        assert session.run("WHO=nobody; exit 3").shell_state == "rolled_back"
        assert session.run("echo $WHO").text == "me\n"
        assert session.info()["name"] == "work"
        assert session.history()[0]["command"] == "echo $WHO"
        assert len(session.history("rolled")) == 0
    assert client.call("session.info", session_id=session.id)["state"] == "terminated"


def test_a_block_ends_what_it_made_once(client: Client) -> None:
    with client.session() as session:
        session.destroy()
    with client.terminal(["cat"]) as terminal:
        terminal.destroy()
    with pytest.raises(KeyError), client.session() as session:
        raise KeyError
    assert session.info()["state"] == "terminated"


def test_a_session_is_kept_restored_and_opened_again(client: Client) -> None:
    session = client.session(shell="bash").open()
    session.run("A=1").check()
    kept = session.checkpoint("before")
    session.run("A=2").check()
    assert [one["checkpoint_id"] for one in session.checkpoints()] == [kept["checkpoint_id"]]
    assert session.restore(kept["checkpoint_id"])["not_restored"] == []
    assert session.run("echo $A").text == "1\n"
    assert session.close()["state"] == "closed"
    with client.session(session.id) as again:
        assert again.run("echo $A").text == "1\n"
    assert again.info()["state"] != "terminated", "the block did not make it"
    again.destroy()


def test_a_busy_session_says_so_and_can_be_cancelled(client: Client) -> None:
    with client.session() as session:
        with session.stream("echo up; sleep 65") as stream:
            next(stream)
            with pytest.raises(SessionBusy) as busy:
                session.run("true")
            assert (busy.value.code, isinstance(busy.value, TrlError)) == ("SESSION_BUSY", True)
            assert session.cancel()
            assert stream.wait().cancelled
        process = session.start("sleep 66", yield_ms=250)
        assert process.session_id == session.id
        assert process.kill()


def test_refusals_are_exceptions_by_their_code(client: Client) -> None:
    with pytest.raises(SessionNotFound) as missing:
        client.session("s-nope1234").run("true")
    assert missing.value.hint == "see session.list"
    method: str = "exec.run"
    with pytest.raises(TrlError, match="did you mean `command`") as wrong:
        client.call(method, comand="x")
    assert wrong.value.code == "INVALID_PARAMS"


def test_a_terminal_shows_what_a_person_would_see(client: Client) -> None:
    with client.terminal(["sh"], cols=60, rows=10, env={"PS1": "ready> "}) as terminal:
        terminal.wait("ready>", timeout_s=60)
        terminal.input("echo $((40 + 2))\r")
        screen = terminal.wait(r"^42$", timeout_s=60)
        assert (screen["cols"], screen["rows"]) == (60, 10)
        assert terminal.resize(70, 12)["cols"] == 70
        terminal.input("sleep 67")
        terminal.keys("Enter")
        terminal.wait("sleep 67$", timeout_s=60)
        terminal.keys("C-c")
        terminal.wait(r"sleep 67[^@]*\^C[^@]*ready>", timeout_s=60)
        with pytest.raises(TimeoutError):
            terminal.wait("never shown", timeout_s=0.05)
        terminal.input("exit 5\r")
        terminal.wait(timeout_s=60)
        assert terminal.info().get("exit_code") == 5
        with pytest.raises(SessionTerminated):
            terminal.input("x")


def test_an_attachment_goes_on_at_the_byte(client: Client) -> None:
    with client.terminal(["cat"]) as terminal:
        with terminal.attach() as seat:
            seat.write("one\r")
            read = b""
            while b"one\r\none\r\n" not in read:
                read += next(seat).data
            gen, since = seat.hello["gen"], seat.offset
        terminal.input("two\r")
        with terminal.attach(gen=gen, since=since) as seat:
            rest = b""
            while b"two\r\ntwo\r\n" not in rest:
                piece = next(seat)
                assert not piece.is_picture
                rest += piece.data
            terminal.keys("C-d")
            assert list(seat) == [] and seat.exit is not None
        assert rest.startswith(b"two"), "nothing twice, nothing missing"
        assert seat.exit["code"] == 0


def test_files_are_read_written_found_and_watched(client: Client, tmp_path: Path) -> None:
    with client.session(working_dir=str(tmp_path)) as session:
        files = session.files
        every = bytes(range(256)) * 8192
        assert files.write("a/b.bin", every, create_dirs=True)["created"]
        assert files.read("a/b.bin") == every
        with files.watch() as changes:
            files.write("note.txt", "find me\n")
            assert next(changes)["changes"][0]["path"] == "note.txt"
        assert files.read_text("note.txt") == "find me\n"
        assert files.glob("*.txt") == ["note.txt"]
        assert [match["line"] for match in files.grep("find")["matches"]] == [1]
        assert sorted(str(entry["path"]) for entry in files.list()["entries"]) == ["a", "note.txt"]
        with pytest.raises(TrlError, match="exists|is there"):
            files.write("note.txt", "", if_version="")
        files.move("note.txt", "a/note.txt")
        assert files.stat("a/note.txt")["size"] == 8
        files.mkdir("c")
        files.remove("a", recursive=True)
        with pytest.raises(FileNotFound):
            files.read("a/note.txt")
