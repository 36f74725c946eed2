from __future__ import annotations

from pathlib import Path

import pytest

from pytest_thinkingbox.stats.prices import BrokenPrices, Price, prices_from, read_prices


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    return path


def test_a_table_of_models_is_read(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '[models."org/big-1.5"]\ninput = 3\ncached_input = 0.3\noutput = 15.0\n[models.small]\ninput=0.25\noutput=2\n',
    )
    assert read_prices(path) == {
        "org/big-1.5": Price(input=3, cached_input=0.3, output=15.0),
        "small": Price(input=0.25, output=2),
    }


def test_cached_tokens_are_a_part_of_the_input() -> None:
    price = Price(input=3.0, cached_input=0.3, output=15.0)
    # 600,000 at 3 + 400,000 at 0.3 + 100,000 at 15 dollars a million
    assert price.of(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=100_000) == pytest.approx(
        3.42
    )


def test_cached_tokens_cost_what_others_do_where_they_have_no_price() -> None:
    price = Price(input=3.0, output=15.0)
    assert price.of(input_tokens=1_000_000, cached_tokens=400_000, output_tokens=0) == 3.0


def test_a_stored_price_is_read_back() -> None:
    price = Price(input=3.0, output=15.0)
    assert prices_from({"m": price.as_data()}, where="campaign.json") == {"m": price}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.m]\ninput = 1\n", "models.m: output is missing"),
        ("[models.m]\ninput = -1\noutput = 1\n", "models.m.input: -1 must be US dollars per million tokens"),
        ("[models.m]\ninput = true\noutput = 1\n", "models.m.input: True must be"),
        ("[models.m]\ninput = inf\noutput = 1\n", "models.m.input: inf must be"),
        (
            "[models.m]\ninput = 1\noutput = 1\nreasoning = 2\n",
            "models.m.reasoning: unknown; known are input,",
        ),
        ("[models]\nm = 3\n", "models.m: 3 must be a table"),
        ("[m]\ninput = 1\noutput = 1\n", "unknown 'm'"),
        ("", "no table [models]"),
        ("models = ", "not TOML"),
    ],
)
def test_a_broken_table_is_refused_with_file_field_and_value(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(BrokenPrices) as caught:
        read_prices(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_table_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BrokenPrices, match=r"none\.toml: the price table cannot be read: No such file"):
        read_prices(tmp_path / "none.toml")
