// Values under the pointer and by arrow keys, exports, the switch between light and dark.
// The page is complete without it: marks then have titles, and the buttons stay hidden.
(() => {
  "use strict";

  const REACH = 32; // How far from a mark the pointer may be, in pixels.
  const STYLES = [
    "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray",
    "stroke-linejoin", "paint-order", "font-family", "font-size", "font-weight", "font-variant-numeric",
    "image-rendering", "pointer-events",
  ];
  const SVG = "http://www.w3.org/2000/svg";

  // --- tooltip ---

  const tooltip = document.createElement("div");
  tooltip.className = "tooltip";
  tooltip.setAttribute("role", "status");
  document.body.append(tooltip);

  function say(text, box) {
    tooltip.textContent = text;
    const width = tooltip.offsetWidth;
    const right = document.documentElement.clientWidth - width - 8;
    const left = Math.max(8, Math.min(right, box.left + box.width / 2 - width / 2));
    const above = box.top - tooltip.offsetHeight - 10;
    const top = above > 4 ? above : box.bottom + 12;
    tooltip.style.left = `${left + window.scrollX}px`;
    tooltip.style.top = `${top + window.scrollY}px`;
  }

  function silence(svg) {
    tooltip.textContent = "";
    svg.querySelector(".pointer")?.remove();
  }

  function pointAt(svg, x, y, width, height) {
    svg.querySelector(".pointer")?.remove();
    const pointer = document.createElementNS(SVG, "rect");
    const size = { x, y, width, height, rx: 3, class: "pointer" };
    for (const [name, value] of Object.entries(size)) pointer.setAttribute(name, value);
    svg.append(pointer);
    return pointer;
  }

  // --- marks: points, bars, cells ---

  function readMarks(svg) {
    const marks = [...svg.querySelectorAll(".mark")];
    // Remove the titles: the browser would show a second tooltip.
    const tips = marks.map((mark) => {
      const title = mark.querySelector("title");
      const tip = title.textContent;
      mark.setAttribute("aria-label", tip);
      title.remove();
      return tip;
    });
    const shape = (mark) => mark.querySelector(".marker") ?? mark.firstElementChild;
    let current = -1;

    function show(index) {
      current = index;
      const target = shape(marks[index]);
      const box = target.getBBox();
      pointAt(svg, box.x - 3, box.y - 3, box.width + 6, box.height + 6);
      say(tips[index], target.getBoundingClientRect());
    }

    function nearest(event) {
      let best = -1;
      let least = REACH;
      marks.forEach((mark, index) => {
        const box = shape(mark).getBoundingClientRect();
        const across = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
        const down = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
        const distance = Math.hypot(across, down);
        if (distance < least) [best, least] = [index, distance];
      });
      return best;
    }

    // In the order in which they were drawn: series by series, row by row.
    function next(key) {
      if (key === "Home" || (current < 0 && key.startsWith("Arrow"))) return 0;
      if (key === "End") return marks.length - 1;
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
      return step && Math.min(marks.length - 1, Math.max(0, current + step));
    }

    return { show, nearest, next };
  }

  // --- images of large matrices ---

  function readImage(svg, image) {
    const data = image.dataset;
    const [rows, columns] = [Number(data.rows), Number(data.columns)];
    const [low, high] = [Number(data.low), Number(data.high)];
    const bytes = Uint8Array.from(atob(data.levels), (sign) => sign.charCodeAt(0));
    const levels = new DataView(bytes.buffer);
    const area = image.getBBox();
    let current = -1;

    function show(index) {
      current = index;
      const [row, column] = [Math.floor(index / columns), index % columns];
      const [width, height] = [area.width / columns, area.height / rows];
      const pointer = pointAt(svg, area.x + column * width, area.y + row * height, width, height);
      const value = low + ((high - low) * levels.getUint16(2 * index, true)) / 65535;
      const figure = Number(value.toPrecision(3)).toString();
      const written = figure.replace("-", "\u2212").replace(".", data.decimal);
      const words = { row, column, value: written };
      const text = data.template.replace(/\{(row|column|value)\}/g, (_, name) => words[name]);
      say(text, pointer.getBoundingClientRect());
    }

    function nearest(event) {
      const box = image.getBoundingClientRect();
      const column = Math.floor(((event.clientX - box.left) / box.width) * columns);
      const row = Math.floor(((event.clientY - box.top) / box.height) * rows);
      const isInside = row >= 0 && row < rows && column >= 0 && column < columns;
      return isInside ? row * columns + column : -1;
    }

    function next(key) {
      if (key === "Home" || (current < 0 && key.startsWith("Arrow"))) return 0;
      if (key === "End") return rows * columns - 1;
      const step = { ArrowRight: 1, ArrowDown: columns, ArrowLeft: -1, ArrowUp: -columns }[key];
      const target = current + step;
      return target >= 0 && target < rows * columns ? target : step && current;
    }

    return { show, nearest, next };
  }

  function follow(svg) {
    const image = svg.querySelector(".pixels");
    let reader = null; // Read on first use: before, an image may have no size.
    const read = () => (reader ??= image ? readImage(svg, image) : readMarks(svg));
    if (!image && !svg.querySelector(".mark")) return;
    const track = (event) => {
      const index = read().nearest(event);
      if (index < 0) silence(svg);
      else read().show(index);
    };
    svg.addEventListener("pointermove", track);
    svg.addEventListener("pointerdown", track);
    svg.addEventListener("pointerleave", (event) => {
      if (event.pointerType === "mouse") silence(svg);
    });
    svg.addEventListener("blur", () => silence(svg));
    svg.addEventListener("keydown", (event) => {
      if (event.key === "Escape") silence(svg);
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const index = read().next(event.key);
      if (index === undefined || Number.isNaN(index)) return;
      event.preventDefault();
      read().show(index);
    });
  }

  // --- exports ---

  function download(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // A drawing that needs no style sheet: light, with its title above and paper behind.
  function standalone(svg) {
    const root = document.documentElement;
    const theme = root.getAttribute("data-theme");
    root.setAttribute("data-theme", "light");
    silence(svg);
    const copy = svg.cloneNode(true);
    const copies = copy.querySelectorAll("*");
    svg.querySelectorAll("*").forEach((original, index) => {
      if (["title", "desc"].includes(original.tagName)) return;
      const computed = getComputedStyle(original);
      for (const name of STYLES) {
        copies[index].style.setProperty(name, computed.getPropertyValue(name));
      }
    });
    const { width, height } = svg.viewBox.baseVal;
    const [family, ink, paper] = ["font-family", "color", "background-color"].map((name) =>
      getComputedStyle(document.body).getPropertyValue(name));
    if (theme === null) root.removeAttribute("data-theme");
    else root.setAttribute("data-theme", theme);

    const add = (tag, attributes) => {
      const node = document.createElementNS(SVG, tag);
      for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
      return node;
    };
    const full = [-16, -40, width + 32, height + 56];
    const [x, y, wide, high] = full;
    const title = add("text", { x: 0, y: -14, fill: ink });
    title.style.cssText = `font: 600 16px ${family}`;
    title.textContent = svg.querySelector("title").textContent;
    copy.prepend(add("rect", { x, y, width: wide, height: high, fill: paper }), title);
    const size = { viewBox: full.join(" "), width: wide, height: high };
    for (const [name, value] of Object.entries(size)) copy.setAttribute(name, value);
    copy.removeAttribute("tabindex");
    return { text: new XMLSerializer().serializeToString(copy), width: wide, height: high };
  }

  function savePicture({ text, width, height }, name) {
    const scale = 2;
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [width * scale, height * scale];
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => download(blob, "image/png", `${name}.png`), "image/png");
    };
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }

  function commaSeparated(table) {
    const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const lines = [...table.rows].map((row) =>
      [...row.cells].map((cell) => quote(cell.dataset.value ?? cell.textContent.trim())).join(","));
    return `\ufeff${lines.join("\r\n")}\r\n`;
  }

  function save(button) {
    const figure = button.closest("figure");
    const name = figure.id.replace(/-figure$/, "");
    if (button.dataset.format === "csv") {
      download(commaSeparated(figure.querySelector("table")), "text/csv", `${name}.csv`);
      return;
    }
    const drawing = standalone(figure.querySelector("svg.chart"));
    if (button.dataset.format === "svg") download(drawing.text, "image/svg+xml", `${name}.svg`);
    else savePicture(drawing, name);
  }

  // --- light and dark ---

  function remembered() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // A page opened from disk may have no storage.
    }
  }

  function isDark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  function wear(theme, button) {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-pressed", String(theme === "dark"));
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // Without storage, the choice lasts until the page is closed.
    }
  }

  const theme = remembered();
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
  for (const button of document.querySelectorAll("button.theme")) {
    button.hidden = false;
    button.setAttribute("aria-pressed", String(isDark()));
    button.addEventListener("click", () => wear(isDark() ? "light" : "dark", button));
  }
  for (const button of document.querySelectorAll("button.export")) {
    button.hidden = false;
    button.addEventListener("click", () => save(button));
  }
  for (const svg of document.querySelectorAll("svg.chart")) follow(svg);
})();
