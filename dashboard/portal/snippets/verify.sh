# body.json holds the body as it came; ID, TIMESTAMP and SIGNATURE hold the three webhook- headers.

# By your webhook secret. The result must be one of the tokens in $SIGNATURE.
key=$(printf '%s' "${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \n')
token="v1,$({ printf '%s' "$ID.$TIMESTAMP."; cat body.json; } |
  openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)"
case " $SIGNATURE " in *" $token "*) echo "Standard Webhooks: right" ;; *) echo "Standard Webhooks: wrong" ;; esac

# By the gateway's public key: data without its signature, cut out of the bytes.
sed -E 's/.*"signature":"([^"]*)".*/\1/' body.json | openssl base64 -d -A > signature.bin
sed -E 's/"signature":"[^"]*",|,"signature":"[^"]*"//; s/^\{"data":(.*),"success":.*$/\1/' body.json | tr -d '\n' > signed.txt
openssl dgst -sha256 -verify gateway.pub.pem -signature signature.bin signed.txt # Verified OK
