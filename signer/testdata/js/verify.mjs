// Verifies notifications with the official Standard Webhooks library.
// stdin: [{secret, headers, body}]; stdout: [true or the error's text].
import { readFileSync } from "node:fs";
import { Webhook } from "standardwebhooks";

const results = JSON.parse(readFileSync(0, "utf8")).map(({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    return String(error);
  }
});
console.log(JSON.stringify(results));
