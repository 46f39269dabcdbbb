"""An answer of the advisor as a card, for notebooks."""

from __future__ import annotations

from stablecast.advisor.advice import MEASURES, PACE, Advice, Forecast
from stablecast.showing import Card, Table
from stablecast.showing.card import shown


def card_of_advice(advice: Advice) -> Card:
    """Return what is advised, what it will do, what others would cost, what binds, and what to paste."""
    best, question = advice.best, advice.question
    forecasts = [
        (words, found.mid, f"{shown(found.low)} to {shown(found.high)}")
        for name, words in MEASURES.items()
        for found in (best.measures[name],)
    ]
    tables = [Table(columns=("", "median", basis(advice)), rows=forecasts)]
    if advice.runners_up:
        columns = ("beside it", "p50", "p99", "bytes", "buffer")
        tables.append(Table(columns=columns, rows=[_beside(each, best) for each in advice.runners_up]))
    pasted = f"{PACE}\n{advice.join}" if "PaceOptions" in advice.join else advice.join
    return Card(
        title=f"{best.candidate.label}, for goal {question.wanted}",
        lead=f"{question.members:,} members, {question.rate_per_s:g} messages/s of {question.message_bytes:,}"
        f" bytes; binds: {advice.binds}",
        tables=tables,
        pasted=(pasted, advice.simulate),
    )


def basis(advice: Advice) -> str:
    """Return what the intervals are."""
    if advice.promised:
        return f"95 of 100 further runs ({advice.best.runs} fresh seeds)"
    return f"carried on from {advice.simulated_members} members: NOT a promise"


def _beside(forecast: Forecast, best: Forecast) -> tuple[str, ...]:
    factors = forecast.beside(best)
    return (forecast.candidate.label, *(f"×{factors[name]:.2f}" for name in MEASURES))
