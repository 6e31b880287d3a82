/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web workers on pages that were opened from disk, where browsers refuse real ones: the script runs in a hidden frame.
 * The search of the site needs it. Pages from a server keep the browser's own workers.
 */
(function () {
  "use strict";
  if (location.protocol !== "file:") {
    return;
  }

  class FrameWorker extends EventTarget {
    constructor(address) {
      super();
      this.onmessage = null;
      this.onerror = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.setAttribute("aria-hidden", "true");
      document.body.appendChild(this.frame);
      const inside = this.frame.contentWindow;
      const page = inside.document;
      page.open();
      page.write("<!doctype html><title>worker</title>");
      page.close();
      inside.importScripts = (...files) => files.reduce((before, file) => before.then(() => load(page, file)), Promise.resolve());
      // In a worker, postMessage goes to the page that made it.
      inside.postMessage = (data) => this.receive("message", data);
      load(page, new URL(address, location.href).href).then(
        () => {
          const waiting = this.waiting;
          this.waiting = null;
          waiting.forEach((data) => this.deliver(data));
        },
        (error) => this.receive("error", error),
      );
    }

    postMessage(data) {
      if (this.waiting === null) {
        this.deliver(data);
      } else {
        this.waiting.push(data);
      }
    }

    deliver(data) {
      const inside = this.frame.contentWindow;
      inside.dispatchEvent(new inside.MessageEvent("message", { data }));
    }

    receive(type, data) {
      const event = new MessageEvent(type, { data });
      // As a real worker: never before postMessage has returned.
      setTimeout(() => {
        this.dispatchEvent(event);
        const handler = this["on" + type];
        if (handler) {
          handler.call(this, event);
        }
      });
    }

    terminate() {
      this.frame.remove();
    }
  }

  function load(page, file) {
    return new Promise((done, failed) => {
      const script = page.createElement("script");
      script.src = file;
      script.onload = done;
      script.onerror = () => failed(new Error("cannot load " + file));
      page.documentElement.appendChild(script);
    });
  }

  window.Worker = FrameWorker;
})();
