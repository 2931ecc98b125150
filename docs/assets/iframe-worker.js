// A page that is opened from the disk is given no workers: their script runs in a frame instead,
// so that the search works there, too.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(script) {
      super();
      this.waiting = [];
      this.onmessage = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.tell(this, data);
      inside.importScripts = (...urls) => urls.forEach((url) => this.load(inside, url));
      this.inside = inside;
      this.load(inside, script).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.tell(inside, data));
      });
    }
    load(inside, url) {
      return new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = done;
        inside.document.body.append(script);
      });
    }
    postMessage(data) {
      if (this.ready) this.tell(this.inside, data);
      else this.waiting.push(data);
    }
    tell(target, data) {
      const event = new MessageEvent("message", { data });
      target.dispatchEvent(event);
      if (target === this && this.onmessage) this.onmessage(event);
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
