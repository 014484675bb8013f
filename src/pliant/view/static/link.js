// The WebSocket: keeps the newest frame undecoded, passes text messages on, and reconnects when the connection is lost.

const MAGIC = 0x504c5932; // "PLY2": version 2 of the wire protocol
const TYPES = { f4: Float32Array, u4: Uint32Array, u1: Uint8Array };

// Generation and serial of a frame without decoding it, or null if it is not a frame.
function stamp(data) {
  const view = new DataView(data);
  return data.byteLength >= 16 && view.getUint32(0, true) === MAGIC ? { generation: view.getUint32(4, true), serial: view.getUint32(8, true) } : null;
}

// Decoder for view/frame_encoding.py: the header, and the arrays as views of the message.
function decodeFrame(data) {
  const length = new DataView(data).getUint32(12, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 16, length)));
  const arrays = {}, shapes = {};
  let at = 16 + length;
  for (const [name, type, shape] of header.arrays) {
    const Type = TYPES[type], count = shape.reduce((product, n) => product * n, 1);
    arrays[name] = at % Type.BYTES_PER_ELEMENT ? new Type(data.slice(at, at + count * Type.BYTES_PER_ELEMENT)) : new Type(data, at, count);
    shapes[name] = shape;
    at += count * Type.BYTES_PER_ELEMENT;
  }
  return { header, arrays, shapes };
}

// Rate of received frames over the last two seconds, in 1/s.
class Rate {
  constructor() { this.times = []; }

  count(now) {
    this.since ??= now;
    this.times.push(now);
    if (this.times.length > 400) this.times.splice(0, 200);
  }

  at(now) {
    const recent = this.times.filter((time) => now - time < 2000);
    return recent.length ? (1000 * recent.length) / Math.min(2000, Math.max(now - this.since, 100)) : 0;
  }
}

class Link {
  // callbacks: onMessage(message) for each text, onFrame() for a newer frame, onOpen(), and onClose(code, reason, wait) with the ms until the next attempt
  constructor(address, { onMessage, onFrame, onClose, onOpen }) {
    Object.assign(this, { address, onMessage, onFrame, onClose, onOpen });
    this.newest = null; // { generation, serial, data }
    this.delivered = 0;
    this.rate = new Rate();
    this.tries = 0;
    this.open();
  }

  get ready() { return this.socket?.readyState === WebSocket.OPEN; }

  open() {
    const socket = new WebSocket(this.address);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    let opened = false;
    socket.onopen = () => { opened = true; this.tries = 0; this.newest = null; this.onOpen(); };
    socket.onmessage = ({ data }) => (typeof data === "string" ? this.onMessage(JSON.parse(data)) : this.frame(data));
    socket.onclose = async ({ code, reason }) => {
      const why = opened ? "" : await this.refusal();
      this.reconnect(why ? 503 : code, why || reason);
    };
  }

  // The reason why a socket was rejected, if the server is full: browsers report only code 1006 to scripts.
  async refusal() {
    try {
      const answer = await fetch(this.address.replace(/^ws/, "http"), { signal: AbortSignal.timeout(2000) });
      return answer.status === 503 ? (await answer.text()).trim() : "";
    } catch { return ""; }
  }

  frame(data) {
    const found = stamp(data);
    if (!found) return;
    this.delivered++;
    this.rate.count(performance.now());
    this.newest = { ...found, data };
    this.onFrame();
  }

  reconnect(code, reason) {
    const wait = Math.min(5000, 300 * 2 ** this.tries++);
    this.onClose(code, reason, wait);
    setTimeout(() => this.open(), wait);
  }

  send(command) {
    if (this.ready) this.socket.send(JSON.stringify(command));
    return this.ready;
  }
}
