"""From a group's size, rate, loss and buffers to a protocol with its parameters, and a checked promise.

>>> from stablecast.advisor import Question
>>> Question(members=8, rate_per_s=100).senders_there
8
"""

from stablecast.advisor.advice import Advice, Forecast
from stablecast.advisor.advise import advise
from stablecast.advisor.question import Question

__all__ = ["Advice", "Forecast", "Question", "advise"]
