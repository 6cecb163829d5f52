// A small network: servers below, switches above by tier, links in the color of their load.
(() => {
  const {format, heat, tip, variable} = trainyard;
  const longest = 14;  // characters of a name beside its box
  const [FROM, TO, , , CAPACITY, CARRIED, LOAD, FROM_NODE, TO_NODE] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

  // The links of one direction between two nodes, as one.
  function bundles(data) {
    const all = new Map();
    for (const row of data.rows) {
      const key = JSON.stringify([row[FROM_NODE], row[TO_NODE]]);
      if (!all.has(key)) all.set(key, []);
      all.get(key).push(row);
    }
    return [...all.values()];
  }

  function places(nodes) {
    const tiers = Map.groupBy ? Map.groupBy(nodes, (node) => node.tier) : grouped(nodes);
    const where = new Map();
    for (const [tier, members] of tiers) {
      members.forEach((node, i) => where.set(node.name, [(i + 0.5) / members.length, tier]));
    }
    return {where, tiers};
  }

  function grouped(nodes) {
    const tiers = new Map();
    for (const node of nodes) tiers.set(node.tier, [...(tiers.get(node.tier) ?? []), node]);
    return tiers;
  }

  function ends(view) {
    const loads = view.data.rows.map((row) => row[LOAD]);
    return view.state.scale === 'full' ? 1 : Math.max(...loads, 1e-9);
  }

  function edge(view, bundle, number) {
    const load = Math.max(...bundle.map((row) => row[LOAD]));
    return {
      source: bundle[0][FROM_NODE], target: bundle[0][TO_NODE], bundle: number,
      lineStyle: {color: heat(load / ends(view)), width: 1.5 + 3 * load / ends(view),
        curveness: 0.06, opacity: 1},
    };
  }

  function describe(bundle) {
    const shares = bundle.map((row) => row[LOAD]);
    const sum = (column) => bundle.reduce((total, row) => total + row[column], 0);
    const lines = [['capacity', format.quantity(sum(CAPACITY), 'B/s')],
      ['carried', format.quantity(sum(CARRIED), 'B')]];
    if (bundle.length === 1) {
      lines.push(['load', format.show({form: 'share'}, shares[0])]);
    } else {
      lines.unshift(['links', String(bundle.length)]);
      lines.push(['mean load', format.show({form: 'share'},
        shares.reduce((a, b) => a + b) / shares.length)]);
      lines.push(['highest load', format.show({form: 'share'}, Math.max(...shares))]);
    }
    return tip(bundle.length === 1 ? `${bundle[0][FROM]} → ${bundle[0][TO]}`
      : `${bundle[0][FROM_NODE]} → ${bundle[0][TO_NODE]}`, lines);
  }

  function option(view) {
    const nodes = [...new Map(view.data.nodes.map((node) => [node.name, node])).values()];
    const {where, tiers} = places(nodes);
    const top = Math.max(...tiers.keys());
    const all = bundles(view.data).filter((bundle) => where.has(bundle[0][FROM_NODE]) &&
      where.has(bundle[0][TO_NODE]) &&
      (view.state.direction === 'both' || bundle[0][3] === view.state.direction));
    const hidden = {type: 'value', show: false};
    const wide = view.plot.clientWidth || 700;
    const side = [...tiers.values()].every((tier) => fitsIn(widthOf(wide - 40, tier), tier)) ? 20 : 70;
    const room = wide - 2 * side;
    view.scale(view.state.scale === 'full' ? 'load' : 'load (busiest link at the right)', '0%',
      format.show({form: 'share'}, ends(view)));
    return {
      grid: {left: side, right: side, top: 92, bottom: 84},
      tooltip: view.tooltip((at) => at.dataType === 'edge' ? describe(all[at.data.bundle])
        : tip(at.data.name, [['kind', at.data.kind]])),
      xAxis: {...hidden, min: 0, max: 1}, yAxis: {...hidden, min: 0, max: Math.max(top, 1)},
      series: [{
        type: 'graph', coordinateSystem: 'cartesian2d', edgeSymbol: ['none', 'none'],
        data: nodes.map((node) => mark(node, where.get(node.name), room,
          tiers.get(node.tier))),
        links: all.map((bundle, i) => edge(view, bundle, i)),
        emphasis: {focus: 'adjacency', lineStyle: {width: 5}},
      }],
    };
  }

  const widthOf = (room, tier) => Math.min(room / tier.length * 0.85, 110);
  const fitsIn = (width, tier) => tier.every((one) => width > 7 * one.name.length + 8);

  // What tells names apart is at their end.
  const short = (name) => (name.length > longest ? `…${name.slice(1 - longest)}` : name);

  // A box with its name in it, or under or over it where it is too narrow.
  function mark(node, value, room, tier) {
    const width = widthOf(room, tier);
    const fits = fitsIn(width, tier);
    const isSwitch = node.kind === 'switch';
    return {
      name: node.name, kind: node.kind, value,
      symbol: 'rect', symbolSize: [width, fits ? 22 : 12],
      itemStyle: {color: variable(isSwitch ? '--line' : '--soft')},
      label: {show: true, fontSize: 11, color: variable('--ink'), formatter: () => short(node.name),
        ...(fits ? {position: 'inside'}
          : {position: isSwitch ? 'top' : 'bottom', rotate: 45, align: isSwitch ? 'left' : 'right',
            distance: 6})},
    };
  }

  trainyard.add('topology', {
    height: (view) => 206 + 130 * Math.max(...view.data.nodes.map((node) => node.tier), 1),
    option,
    setup(view) {
      const directions = [...new Set(view.data.rows.map((row) => row[3]))];
      view.select('Direction', 'direction',
        [['both', 'both'], ...directions.map((one) => [one, one])]);
      view.select('Colors up to', 'scale', [['busiest', 'the busiest link'], ['full', '100%']]);
    },
  });
})();
