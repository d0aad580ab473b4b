// Owns how outcomes are counted and shown; what an outcome is, is decided in peers.mjs.

const OUTCOMES = ['correct', 'refused', 'wrong'];

function countOf(outcomes, outcome) {
  return outcomes.filter((one) => one.outcome === outcome).length;
}

export function percent(count, all) {
  return all ? `${((100 * count) / all).toFixed(1)}%` : '-';
}

function groupBy(outcomes, key) {
  const groups = new Map();
  for (const one of outcomes) groups.set(one[key], [...(groups.get(one[key]) ?? []), one]);
  return groups;
}

export function aligned(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => row.map((cell, i) => (i ? cell.padStart(widths[i]) : cell.padEnd(widths[i]))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

/** One row for each kind, and one column `correct/refused/wrong` for each tool. */
function byKind(tools, outcomes) {
  const rows = [['kind', 'cases', ...tools]];
  for (const [kind, ofKind] of groupBy(outcomes, 'kind')) {
    const counts = tools.map((tool) => {
      const mine = ofKind.filter((one) => one.tool === tool);
      return OUTCOMES.map((outcome) => countOf(mine, outcome)).join(' / ');
    });
    rows.push([kind, String(ofKind.length / tools.length), ...counts]);
  }
  return rows;
}

function totals(tools, outcomes) {
  const rows = [['tool', 'to apply', 'correct', 'first result', 'refused', 'wrong', 'wrong of all', 'traps refused']];
  for (const tool of tools) {
    const mine = outcomes.filter((one) => one.tool === tool);
    const apply = mine.filter((one) => one.expect === 'apply');
    const traps = mine.filter((one) => one.expect === 'refuse');
    const share = (count, all = apply) => `${count} ${percent(count, all.length)}`;
    rows.push([
      tool,
      String(apply.length),
      share(countOf(apply, 'correct')),
      share(apply.filter((one) => one.result === 0).length),
      share(countOf(apply, 'refused')),
      share(countOf(apply, 'wrong')),
      share(countOf(mine, 'wrong'), mine),
      `${countOf(traps, 'correct')} of ${traps.length}`,
    ]);
  }
  return rows;
}

export function show(outcomes) {
  const tools = [...new Set(outcomes.map((one) => one.tool))];
  const kinds = aligned(byKind(tools, outcomes));
  return `correct / refused / wrong; a trap that is refused counts as correct\n\n${kinds}\n\n${aligned(totals(tools, outcomes))}\n`;
}
