// Numbers as text, in the same form as the tables of the page.
trainyard.format = (() => {
  const prefixes = {
    's': [['', 0], ['m', -3], ['u', -6], ['n', -9], ['p', -12]],
    'B': [['', 0], ['k', 3], ['M', 6], ['G', 9], ['T', 12], ['P', 15], ['E', 18]],
  };

  // Four significant digits, with an exponent where plain digits would be many.
  function four(value) {
    if (value === 0) return '0';
    const [mantissa, exponent] = value.toExponential(3).split('e');
    const power = Number(exponent);
    if (power >= -4 && power < 4) return String(Number(value.toPrecision(4)));
    const digits = String(Math.abs(power)).padStart(2, '0');
    return `${Number(mantissa)}e${power < 0 ? '-' : '+'}${digits}`;
  }

  function quantity(value, unit) {
    const rounded = Number(value.toPrecision(4));
    for (const [prefix, power] of prefixes[unit[0]]) {
      const scaled = Number((rounded / 10 ** power).toPrecision(4));
      if (Math.abs(scaled) >= 1 && Math.abs(scaled) < 1000) return `${scaled} ${prefix}${unit}`;
    }
    return `${rounded} ${unit}`;
  }

  // 280814 as "280,814".
  function grouped(value) {
    const size = Math.abs(value);
    if (size < 1e4 || size >= 1e15) return four(value);
    return (value < 0 ? '-' : '') + size.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',');
  }

  function withUnit(text, unit) {
    if (!unit || unit === '1') return text;
    return text + (unit.startsWith('1/') ? unit.slice(1) : ` ${unit}`);
  }

  // A cell of a column, as the table shows it.
  function show(column, value) {
    if (value === null || value === undefined) return '–';
    if (typeof value !== 'number') return String(value);
    switch (column.form) {
      case 'seconds': return quantity(value, 's');
      case 'bytes': return quantity(value, 'B');
      case 'size': return size(value);
      case 'rate': return quantity(value, 'B/s');
      case 'share': return `${(100 * value).toFixed(2)}%`;
      default: return withUnit(grouped(value), column.unit);
    }
  }

  // A tick: round numbers, so without digits that say nothing.
  function tick(column, value) {
    switch (column.form) {
      case 'share': return `${Number((100 * value).toPrecision(3))}%`;
      case 'number': return compact(value);
      default: return value === 0 ? '0' : show(column, value);
    }
  }

  // 1200000 as "1.2M": for ticks alone.
  function compact(value) {
    for (const [suffix, power] of [['G', 9], ['M', 6], ['k', 3]]) {
      if (Math.abs(value) >= 10 ** power * (power === 3 ? 10 : 1))
        return `${Number((value / 10 ** power).toPrecision(4))}${suffix}`;
    }
    return String(Number(value.toPrecision(4)));
  }

  // A size of messages: 1 KiB, 4 MiB.
  function binary(bytes) {
    for (const [prefix, power] of [['Ti', 40], ['Gi', 30], ['Mi', 20], ['Ki', 10]]) {
      if (bytes >= 2 ** power) return `${Number((bytes / 2 ** power).toPrecision(4))} ${prefix}B`;
    }
    return `${bytes} B`;
  }

  // Sizes are mostly powers of two: those that are whole in such a unit are shown in it.
  function size(bytes) {
    const unit = 1024 ** Math.max(Math.floor(Math.log2(bytes) / 10), 0);
    return bytes > 0 && Number.isInteger(bytes / unit) ? binary(bytes) : quantity(bytes, 'B');
  }

  // Round numbers around these, which lie within two decades: 1, 2 and 5 of each decade, or equal
  // steps where those would be few. Undefined beyond two decades.
  function logTicks(numbers) {
    const [low, high] = numbers.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)],
      [Infinity, -Infinity]);
    if (!(low > 0) || high / low > 100) return undefined;
    if (high / low >= 3) return between(low, high, oneTwoFive(low, high));
    const raw = (high - low || low) / 5;
    const decade = 10 ** Math.floor(Math.log10(raw));
    const step = decade * [1, 2, 5, 10].find((factor) => factor * decade >= raw * 0.999);
    // Below a ratio of 3 a step is less than `low`, so that none of these is 0.
    const from = Math.floor(low / step);
    return between(low, high, Array.from({length: Math.ceil(high / step) - from + 2},
      (_, i) => Number(((from + i) * step).toPrecision(12))));
  }

  function oneTwoFive(low, high) {
    const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    return Array.from({length: to - from + 1}, (_, i) =>
      [1, 2, 5].map((digit) => Number(`${digit}e${from + i}`))).flat();
  }

  // From the last that is not above `low` to the first that is not below `high`.
  function between(low, high, ticks) {
    const first = Math.max(ticks.findLastIndex((tick) => tick <= low), 0);
    return ticks.slice(first, ticks.findIndex((tick) => tick >= high && tick > ticks[first]) + 1);
  }

  // Title and unit of an axis.
  function name(column) {
    const units = {share: '%', number: column.unit === '1' ? '' : column.unit};
    const unit = units[column.form];
    return unit && unit !== '%' ? `${column.title} (${unit})` : column.title;
  }

  return {show, tick, binary, name, four, quantity, grouped, logTicks};
})();
