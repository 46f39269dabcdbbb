"use strict";
// What the page knows of a run, and what follows from it. Nothing here draws.
//
// A run comes as one block of bytes: the length of a JSON header, the header, and columns of numbers. Times are
// microseconds since the run's first event. Arrows (transmissions to one addressee) are sorted by the time at
// which they were sent, points (what a member did) by their time, so that a window of time is a range of rows.

const NONE = -1; // where a row has no such value
const POINTS = ["send", "receive", "stable", "release", "timer", "join", "leave", "fail"];
const SEND = 0, RECEIVE = 1, STABLE = 2, RELEASE = 3;

async function readRun(text) {
  const packed = atob(text.trim());
  const bytes = new Uint8Array(packed.length);
  for (let k = 0; k < packed.length; k++) bytes[k] = packed.charCodeAt(k);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return runOf(await new Response(stream).arrayBuffer());
}

function runOf(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  const begin = Math.ceil((8 + length) / 8) * 8;
  const run = { ...header };
  for (const [name, [type, offset, count]] of Object.entries(header.columns)) {
    run[name] = new TYPES[type](buffer, begin + offset, count);
  }
  run.latest = runningMost(run.arrow_end);
  run.numberOf = new Map(run.members.map((name, k) => [name, k]));
  return run;
}

const TYPES = { u8: Uint8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, u32: Uint32Array, f64: Float64Array };

// The latest end of all arrows up to each: those that reach into a window begin at the first one that does.
function runningMost(ends) {
  const most = new Float64Array(ends.length);
  for (let k = 0, top = -Infinity; k < ends.length; k++) most[k] = top = Math.max(top, ends[k]);
  return most;
}

// The first place in a sorted column that holds at least a value.
function firstFrom(column, value) {
  let low = 0, high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

function arrowsIn(run, from, to) {
  return [firstFrom(run.latest, from), firstFrom(run.arrow_sent, to + 1)];
}

function pointsIn(run, from, to) {
  return [firstFrom(run.point_time, from), firstFrom(run.point_time, to + 1)];
}

// "ann/17" as a message of the run: its source, which may have slashes in its name, and its number.
function parseMessage(run, text) {
  const cut = text.lastIndexOf("/");
  const seq = text.slice(cut + 1).trim();
  const source = run.numberOf.get(text.slice(0, cut).trim());
  if (cut < 0 || source === undefined || !/^\d+$/.test(seq)) return null;
  return { source, seq: Number(seq), name: `${run.members[source]}/${Number(seq)}` };
}

// Sent, received by each member, known stable by each, released by each; null if nobody sent or received it.
function lifeOf(run, message) {
  const life = { sent: null, received: new Map(), known: new Map(), released: new Map() };
  const { point_source, point_seq, point_kind, point_member, point_time } = run;
  const note = (map, k) => { if (!map.has(point_member[k])) map.set(point_member[k], point_time[k]); };
  for (let k = 0; k < point_time.length; k++) {
    if (point_source[k] !== message.source || point_seq[k] < message.seq) continue;
    const kind = point_kind[k];
    if (kind === STABLE) note(life.known, k); // a stable row covers everything before its number
    else if (point_seq[k] !== message.seq) continue;
    else if (kind === SEND) life.sent ??= point_time[k];
    else if (kind === RECEIVE) note(life.received, k);
    else if (kind === RELEASE) note(life.released, k);
  }
  if (life.sent === null && !life.received.size) return null;
  return life;
}

// The arrows that carry a message, or ask for it.
function carriersOf(run, message) {
  const found = [];
  for (let k = 0; k < run.arrow_sent.length; k++) {
    if (run.kinds[run.arrow_kind[k]].carries && run.arrow_source[k] === message.source && run.arrow_first[k] <= message.seq
        && message.seq <= run.arrow_seq[k]) found.push(k);
  }
  return found;
}

// How a member came to have it: the arrow that ended when the member received it.
function wayTo(run, carriers, member, time) {
  return carriers.find((k) => run.arrow_to[k] === member && run.arrow_end[k] === time && !run.arrow_lost[k]);
}

function rangeOf(run, source, first, last) {
  const name = run.members[source];
  return first >= 0 && first < last ? `${name}/${first} to ${last}` : `${name}/${last}`;
}

// Lines about an arrow or a point, for who points at it.
function tellArrow(run, k) {
  const kind = run.kinds[run.arrow_kind[k]].name;
  const about = run.arrow_source[k] >= 0 ? ` ${rangeOf(run, run.arrow_source[k], run.arrow_first[k], run.arrow_seq[k])}` : "";
  const round = run.arrow_execution[k] >= 0 ? ` of execution ${run.arrow_execution[k]}` : "";
  const [sent, end] = [run.arrow_sent[k], run.arrow_end[k]];
  const lines = [kind + about + round, `${run.members[run.arrow_from[k]]} → ${run.members[run.arrow_to[k]]}`];
  if (run.arrow_lost[k]) lines.push(`sent at ${show(sent)}, never handled`);
  else lines.push(`sent at ${show(sent)}, handled at ${show(end)}: ${show(end - sent)}`);
  if (run.arrow_queue[k] >= 0 && !run.arrow_lost[k]) {
    const [queue, service] = [run.arrow_queue[k], run.arrow_service[k]];
    lines.push(`in queues ${show(queue)}, served ${show(service)}, on the way ${show(end - sent - queue - service)}`);
  }
  if (run.arrow_bytes[k] >= 0) lines.push(`${count(run.arrow_bytes[k])} bytes`);
  return lines;
}

function tellPoint(run, k) {
  const member = run.members[run.point_member[k]];
  const message = run.point_source[k] >= 0 ? `${run.members[run.point_source[k]]}/${run.point_seq[k]}` : "";
  const told = {
    send: `${member} sends ${message}`,
    receive: `${member} receives ${message}`,
    stable: `${member} knows ${message} and all before it to be stable`,
    release: `${member} releases ${message}`,
    timer: `a timer of ${member} goes off: ${run.timers[run.point_seq[k]] ?? ""}`,
    join: `${member} joins`, leave: `${member} leaves`, fail: `${member} fails`,
  };
  return [told[POINTS[run.point_kind[k]]], `at ${show(run.point_time[k])}`];
}

// Lengths and times as a person says them; the numbers of tables are milliseconds, to the microsecond.
function show(us) {
  const size = Math.abs(us);
  if (size < 1000) return `${us} µs`;
  if (size < 1e6) return `${inMs(us)} ms`;
  return `${(us / 1e6).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} s`;
}

function inMs(us) {
  return (us / 1000).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 });
}

function count(number) {
  return number.toLocaleString("en-US");
}
