// A large network: a row for each lower end of a tier's links, a cell for each link.
(() => {
  const {format, heat, tip, variable, isPrinting} = trainyard;
  const [FROM, TO, TIER, DIRECTION, CAPACITY, CARRIED, LOAD, FROM_NODE, TO_NODE] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8];
  const mostRows = 40;

  const levelOf = (row) => `${row[TIER]} ${row[DIRECTION]}`;

  function levelName(level) {
    const [tier, direction] = level.split(' ');
    return tier === '0' ? `servers and tier 1, ${direction}`
      : `tiers ${tier} and ${Number(tier) + 1}, ${direction}`;
  }

  // Rows by their lower node, in the order of the document.
  function table(view) {
    const lower = view.state.level.endsWith('down') ? TO_NODE : FROM_NODE;
    const place = new Map(view.data.nodes.map((node, i) => [node.name, i]));
    const rows = new Map();
    for (const row of view.data.rows.filter((one) => levelOf(one) === view.state.level)) {
      if (!rows.has(row[lower])) rows.set(row[lower], []);
      rows.get(row[lower]).push(row);
    }
    return [...rows].sort((a, b) => (place.get(a[0]) ?? 0) - (place.get(b[0]) ?? 0));
  }

  function cells(rows, most) {
    return rows.flatMap(([, links], y) => links.map((link, x) => ({
      value: [x, y, link[LOAD]], link, itemStyle: {color: heat(link[LOAD] / most)},
    })));
  }

  function option(view) {
    const rows = table(view);
    const width = Math.max(...rows.map(([, links]) => links.length));
    const most = view.state.scale === 'full' ? 1
      : Math.max(...view.data.rows.map((row) => row[LOAD]), 1e-9);
    const many = rows.length > mostRows;
    view.scale('load', '0%', format.show({form: 'share'}, most));
    return {
      grid: {left: 12, right: many ? 40 : 16, top: 8, bottom: 44, containLabel: true},
      tooltip: view.tooltip(({data: {link}}) => tip(`${link[FROM]} → ${link[TO]}`, [
        ['load', format.show({form: 'share'}, link[LOAD])],
        ['carried', format.quantity(link[CARRIED], 'B')],
        ['capacity', format.quantity(link[CAPACITY], 'B/s')]])),
      xAxis: view.axis({type: 'category', name: 'link of the server or switch', nameGap: 28,
        data: Array.from({length: width}, (_, i) => String(i)), splitLine: {show: false}}),
      yAxis: view.axis({type: 'category', inverse: true, data: rows.map(([name]) => name),
        axisLabel: {interval: 0, hideOverlap: false, fontSize: 11, width: 200,
          overflow: 'truncate'}, splitLine: {show: false}}),
      dataZoom: many ? [
        {type: 'slider', show: !isPrinting(), yAxisIndex: 0, startValue: view.top,
          endValue: view.top + mostRows - 1,
          width: 18, right: 6, showDetail: false, zoomLock: true, brushSelect: false,
          showDataShadow: false, borderColor: variable('--line')}] : [],
      series: [{type: 'heatmap', data: cells(rows, most), itemStyle: {borderWidth: 0.5,
        borderColor: variable('--paper')}, progressive: 0}],
    };
  }

  function scroll(view, by) {
    const rows = table(view).length;
    view.top = Math.min(Math.max(view.top + by, 0), Math.max(rows - mostRows, 0));
    view.draw();
  }

  trainyard.add('links', {
    canvas: true,
    height: (view) => 80 + 18 * Math.min(Math.max(table(view).length, 6), mostRows),
    option,
    setup(view) {
      view.top = 0;
      const levels = [...new Set(view.data.rows.map(levelOf))].sort();
      view.select('Links between', 'level', levels.map((level) => [level, levelName(level)]),
        () => { view.top = 0; });
      view.select('Colors up to', 'scale', [['busiest', 'the busiest link'], ['full', '100%']]);
      view.button('↑', () => scroll(view, -20), 'Scroll up');
      view.button('↓', () => scroll(view, 20), 'Scroll down');
    },
    ready(view) {
      view.chart.on('datazoom', () => {
        view.top = view.chart.getOption().dataZoom[0].startValue;
      });
    },
  });
})();
