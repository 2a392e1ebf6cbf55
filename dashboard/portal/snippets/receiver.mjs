// WEBHOOK_SECRET=whsec_… node receiver.mjs
import { createHmac, createVerify, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const secret = Buffer.from(process.env.WEBHOOK_SECRET.replace("whsec_", ""), "base64");
const gatewayKey = readFileSync("gateway.pub.pem"); // the public key on this page

function standardWebhooks(headers, body) {
  const id = headers["webhook-id"], seconds = headers["webhook-timestamp"];
  if (Math.abs(Date.now() / 1000 - Number(seconds)) > 300) return false; // also when it is no number
  const want = createHmac("sha256", secret).update(`${id}.${seconds}.`).update(body).digest();
  return (headers["webhook-signature"] ?? "").split(" ").some((token) => {
    const got = Buffer.from(token.replace("v1,", ""), "base64");
    return token.startsWith("v1,") && got.length === want.length && timingSafeEqual(got, want);
  });
}

function rsa(body) {
  const note = JSON.parse(body);
  const { signature = note.signature, ...data } = note.data; // in data or beside it
  // The body comes in RFC 8785 form, which JSON.stringify keeps.
  return createVerify("SHA256").update(JSON.stringify(data)).verify(gatewayKey, signature, "base64");
}

const server = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const body = Buffer.concat(chunks); // the bytes as they came
  let right = false;
  try {
    right = standardWebhooks(req.headers, body) && rsa(body); // one of the two is enough
  } catch {}
  if (right) console.log(req.headers["webhook-id"], body.toString()); // store it before the answer
  res.writeHead(right ? 200 : 401).end();
});
server.listen(process.env.PORT ?? 9000, "127.0.0.1", () => console.log("port", server.address().port));
