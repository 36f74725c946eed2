"""What `thinkingbox serve` says before it has loaded anything: torch is not needed for it."""

from __future__ import annotations

import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_thinkingbox.cli import main
from pytest_thinkingbox.errors import ConfigurationError
from thinkingbox_trainer.serve import serve


@pytest.mark.skipif(find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named(capsys):
    assert main(["serve", "checkpoint"]) == 2
    assert "pip install 'pytest-thinkingbox[serve]'" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named_before_anything_is_loaded(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(
            ConfigurationError, match=rf"listen on 127\.0\.0\.1 port {port}: .* --port \(0 for any"
        ):
            serve(tmp_path, host="127.0.0.1", port=port)


def test_a_host_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"cannot listen on nowhere\.invalid port 0: .* with --host"):
        serve(tmp_path, host="nowhere.invalid", port=0)


def test_what_is_no_checkpoint_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="none is no folder: name the folder of a checkpoint"):
        serve(Path("none"), host="127.0.0.1", port=0)
    with pytest.raises(ConfigurationError, match=r"holds no config\.json"):
        serve(tmp_path, host="127.0.0.1", port=0)


def test_adapters_alone_are_no_model(tmp_path):
    (tmp_path / "adapter_config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        ConfigurationError, match=r"holds adapters only, .* whole model \(of a run: `model`, or"
    ):
        serve(tmp_path, host="127.0.0.1", port=0)


def test_a_port_is_a_number_of_sixteen_bits(capsys):
    with pytest.raises(SystemExit):
        main(["serve", "checkpoint", "--port=70000"])
    assert "70000 must be a number from 0 to 65535" in capsys.readouterr().err
