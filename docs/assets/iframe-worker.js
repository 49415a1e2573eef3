// Pages opened from disk may not start workers. There, a hidden frame stands in for one, so that search
// works from file:// too. Everywhere else this file does nothing.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search";
      document.body.append(frame);
      this.inside = frame.contentWindow;
      const inner = this.inside.document;
      const load = (url) => {
        const script = inner.createElement("script");
        script.src = url;
        script.async = false; // in the order of the calls
        inner.body.append(script);
        return script;
      };
      // what the script of the worker calls to answer
      this.inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = (...urls) => {
        for (const url of urls) load(url);
      };
      this.inside.__index = window.__index;
      load(address).onload = () => {
        this.ready = true;
        for (const data of this.waiting) this.deliver(data);
      };
    }

    set onmessage(listener) {
      this.addEventListener("message", listener);
    }

    deliver(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    postMessage(data) {
      if (this.ready) this.deliver(data);
      else this.waiting.push(data);
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
