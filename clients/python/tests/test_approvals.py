"""Commands that wait for a person."""

from __future__ import annotations

import threading
from typing import List

import pytest
from conftest import Daemon

from trl_client import ApprovalDenied, ApprovalPending, ApprovalRequired, Client, Forbidden, Result

RULES = '{default: ask, rules: [{allow: ["true"]}, {deny: ["git push"], reason: protected}]}'


def test_a_command_waits_for_a_person_and_runs(own_daemon: Daemon) -> None:
    own_daemon.rules(RULES)
    agent = Client(socket=own_daemon.socket, autostart=None)
    operator = Client(socket=own_daemon.socket, token=own_daemon.operator, autostart=None)
    with agent, operator:
        results: List[Result] = []
        with operator.events(kinds=["hitl.requested"]) as events:
            waits = threading.Thread(target=lambda: results.append(agent.run("echo approved")))
            waits.start()
            event = next(events)
        assert event["kind"] == "hitl.requested"
        request = operator.approvals.get(event["request_id"])
        assert request["command"] == "echo approved"
        assert [one["request_id"] for one in agent.approvals.list()] == [request["request_id"]]
        with pytest.raises(Forbidden):
            agent.approvals.approve(request)
        assert operator.approvals.approve(request)["state"] == "approved"
        waits.join()
        assert results[0].text == "approved\n"
        assert [entry["what"] for entry in operator.approvals.audit(limit=1)] != []


def test_nobody_needs_to_wait(own_daemon: Daemon) -> None:
    own_daemon.rules(RULES)
    agent = Client(socket=own_daemon.socket, autostart=None)
    operator = Client(socket=own_daemon.socket, token=own_daemon.operator, autostart=None)
    with agent, operator:
        assert agent.run("true").ok
        with pytest.raises(ApprovalDenied, match="protected"):
            agent.run("git push")
        with pytest.raises(ApprovalRequired):
            agent.run("echo x", approval="fail")
        with agent.session() as session:
            with pytest.raises(ApprovalPending) as pending:
                session.run("echo later", approval="return")
            request = agent.approvals.wait(pending.value.request_id, timeout_s=0.01)
            assert request["state"] == "pending"
            operator.approvals.approve(request)
            assert agent.approvals.wait(request["request_id"])["state"] == "approved"
            assert pending.value.execution_id is not None
            assert agent.process(pending.value.execution_id).wait().stdout == b"later\n"
        started = agent.start("echo no", approval="return", yield_ms=250)
        assert started.request_id is not None
        operator.approvals.reject(agent.approvals.get(started.request_id), "not today")
        with pytest.raises(ApprovalDenied, match="not today"):
            started.wait()
        with pytest.raises(ApprovalDenied), agent.stream("echo no") as stream:
            assert stream.request_id is not None
            operator.approvals.reject(agent.approvals.get(stream.request_id))
            stream.wait()
