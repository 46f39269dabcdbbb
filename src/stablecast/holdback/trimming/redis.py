"""Trimming a Redis stream in one step with looking at its groups.

Theory
    A script runs while nothing else does.  It asks for all groups of a stream, finds for each the first entry
    that it needs (its first pending entry, or else the first after the last delivered one), takes the least
    of these and of the one that was planned, and trims what is before.  So a group that was made after the
    plan counts, an acknowledgement since then may only have been counted already, and there is no moment
    between looking and trimming.  Whether the client is killed before, while or after the script runs makes
    no difference: it runs whole or not at all.
    A group that is ignored is named with what it was delivered, and the first and the number of what it had
    pending when it was planned.  If any has changed, it is not idle, and counts.
    Keys and groups are named by their bytes, which may be no text.
    A stream without a group that counts is left as it is.
What can go wrong
    Programs that read with XREAD and keep their place elsewhere are no groups; Redis does not know of them.
    A trim of very many entries holds the server up while it runs (measured in docs/holdback.md).
Rights
    Besides those of looking ``+eval +exists +xinfo|groups +xpending +xtrim``.
"""

from __future__ import annotations

from typing import Any

from stablecast.holdback.numbering import WIDE_BITS, Numbering
from stablecast.holdback.sources.redis import RedisSource, telling
from stablecast.holdback.trimming.plan import Done, Step

SCRIPT = """
local function before(a, b)
  local a_time, a_count = string.match(a, '^(%d+)-(%d+)$')
  local b_time, b_count = string.match(b, '^(%d+)-(%d+)$')
  if #a_time ~= #b_time then return #a_time < #b_time end
  if a_time ~= b_time then return a_time < b_time end
  if #a_count ~= #b_count then return #a_count < #b_count end
  return a_count < b_count
end
if redis.call('EXISTS', KEYS[1]) == 0 then return {-1, '', ''} end
local ignored = {}
for k = 2, #ARGV, 4 do ignored[ARGV[k]] = {ARGV[k + 1], ARGV[k + 2], ARGV[k + 3]} end
local last = '18446744073709551615-18446744073709551615'
local least, by, counted = ARGV[1], '', 0
for _, flat in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for k = 1, #flat, 2 do group[flat[k]] = flat[k + 1] end
  local name, delivered = group['name'], group['last-delivered-id']
  local pending = redis.call('XPENDING', KEYS[1], name)
  local first = pending[2] or ''
  local idle = ignored[name]
  if not (idle and idle[1] == delivered and idle[2] == first and tonumber(idle[3]) == pending[1]) then
    counted = counted + 1
    local needs = first
    if needs == '' and delivered ~= last then
      local after = redis.call('XRANGE', KEYS[1], '(' .. delivered, '+', 'COUNT', 1)
      if after[1] then needs = after[1][1] end
    end
    if needs ~= '' and before(needs, least) then least = needs; by = name end
  end
end
if counted == 0 then return {-1, '', ''} end
return {redis.call('XTRIM', KEYS[1], 'MINID', '=', least), least, by}
"""


def execute(source: RedisSource, step: Step) -> Done:
    """Trim one stream as far as is planned, or less if a group needs more now."""
    text = Numbering.STREAM_ID.text
    if step.up_to + 1 >> 2 * WIDE_BITS:
        return Done(0, "", None, "there is no name after its last one")
    words: list[bytes | str] = [text(step.up_to + 1)]
    for one in step.ignored:
        details = one.reader.details
        words += [
            one.reader.member.encode() if one.reader.key is None else one.reader.key,
            str(details["last-delivered-id"]),
            str(details["smallest-pending-id"] or ""),
            str(details["pending"]),
        ]
    with telling(source.address):
        key = step.log.source.encode() if step.log.key is None else step.log.key
        reply: Any = source.client.execute_command("EVAL", SCRIPT, 1, key, *words)
    deleted, least, by = reply
    if deleted < 0:
        return Done(0, "", None, "nobody reads it now")
    return Done(deleted, least.decode(), by.decode("utf-8", "backslashreplace") if by else None)
