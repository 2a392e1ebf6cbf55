package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// operationPaths are the partner operations and where they are.
var operationPaths = map[signer.Operation]string{
	signer.OpAccessToken:   "/api/v2/auth/access-token",
	signer.OpRefreshToken:  "/api/v2/auth/refresh-token",
	signer.OpSendCode:      "/api/v2/user-order/send-code",
	signer.OpVerify:        "/api/v2/user-order/verify",
	signer.OpReviewCashout: "/api/v2/orders/review-cashout",
	signer.OpCreateCashout: "/api/v2/orders/create-cashout",
	signer.OpOrderDetails:  "/api/v2/orders/details",
}

func operations() []string {
	var names []string
	for _, op := range signer.Operations {
		names = append(names, string(op))
	}
	return names
}

// signFlags are the flags of everything that signs.
type signFlags struct {
	file, keyFile, url string
	secret             string
}

func (f *signFlags) register(cmd *cobra.Command, secret string) {
	cmd.Flags().StringVar(&f.file, "file", "", "a JSON file, - for standard input")
	cmd.Flags().StringVar(&f.keyFile, "key", "", "the private key, a PEM file")
	cmd.Flags().StringVar(&f.secret, "secret", "", secret)
	cmd.Flags().StringVar(&f.url, "url", f.url, "the server address in the curl line")
	_ = cmd.MarkFlagRequired("file")
	_ = cmd.MarkFlagRequired("key")
	_ = cmd.MarkFlagRequired("secret")
	_ = cmd.MarkFlagFilename("file", "json")
	_ = cmd.MarkFlagFilename("key", "pem")
}

// read returns what is to be signed and the key.
func (f *signFlags) read(ctx context.Context, c *cli) ([]byte, *signer.Key, error) {
	body, err := c.readFile(ctx, f.file)
	if err != nil {
		return nil, nil, fmt.Errorf("read --file: %w", err)
	}
	text, err := os.ReadFile(f.keyFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read --key: %w", err)
	}
	key, err := signer.ParsePrivateKey(text)
	if err != nil {
		return nil, nil, fmt.Errorf("--key %s: %w", f.keyFile, err)
	}
	return body, key, nil
}

func (c *cli) sign() *cobra.Command {
	var cmds []*cobra.Command
	for _, op := range signer.Operations {
		cmds = append(cmds, c.signRequest(op))
	}
	return group("sign", "Sign like a partner or the gateway, and print the curl line", append(cmds, c.signNotification())...)
}

func (c *cli) signRequest(op signer.Operation) *cobra.Command {
	f := signFlags{url: "http://127.0.0.1:8080"}
	cmd := &cobra.Command{
		Use:   string(op) + " --file FILE --key FILE --secret KEY",
		Short: "Sign a request of POST " + operationPaths[op],
		Long: "Signs " + strings.Join(append(signer.RequestSlots(op), "secretKey"), "|") + `
with a partner's private key, taking the values from a request's body. Prints the
text that is signed, the signature, and the request as a curl line. A signature
that the body holds already is replaced.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, key, err := f.read(cmd.Context(), c)
			if err != nil {
				return err
			}
			text, err := requestText(op, body, f.secret)
			if err != nil {
				return err
			}
			signature, err := key.Sign([]byte(text))
			if err != nil {
				return err
			}
			signed, err := setSignature(body, signature)
			if err != nil {
				return err
			}
			t := c.table()
			t.field("string", text)
			t.field("signature", signature)
			if err := t.flush(); err != nil {
				return err
			}
			return c.curl(strings.TrimRight(f.url, "/")+operationPaths[op], nil, signed)
		},
	}
	f.register(cmd, "the partner's secret key, from its onboarding")
	return cmd
}

// requestText is the text to sign for body, whether or not it is signed yet.
func requestText(op signer.Operation, body []byte, secretKey string) (string, error) {
	request, err := signer.ReadUnsigned(op, body)
	if err != nil {
		return "", fmt.Errorf("the request: %w", err)
	}
	return request.Candidates(secretKey)[0], nil
}

// setSignature sets the member signature of a JSON object and leaves the others
// as they are written.
func setSignature(body []byte, signature string) ([]byte, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return nil, errors.New("the request is not a JSON object")
	}
	members["signature"], _ = json.Marshal(signature)
	return writeJSON(members)
}

// writeJSON writes v without the escapes that only HTML needs.
func writeJSON(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("write JSON: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func (c *cli) signNotification() *cobra.Command {
	f := signFlags{url: "http://127.0.0.1:9000/"}
	var kind, id string
	cmd := &cobra.Command{
		Use:   "notification --type T --file FILE --key FILE --secret SECRET",
		Short: "Sign a notification, to try a receiver without a gateway",
		Long: `Makes a notification from an event's data as the gateway does: the body in
RFC 8785 form with its RSA signature and the Standard Webhooks headers. Prints
it as a curl line.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !webhook.Type(kind).Known() {
				return usage("--type must be one of %s", strings.Join(eventTypes(), ", "))
			}
			data, key, err := f.read(cmd.Context(), c)
			if err != nil {
				return err
			}
			header, body, err := notification(webhook.Type(kind), id, data, key, f.secret)
			if err != nil {
				return err
			}
			return c.curl(f.url, header, body)
		},
	}
	f.register(cmd, "the webhook secret, whsec_…")
	cmd.Flags().StringVar(&kind, "type", "", "the webhookType")
	cmd.Flags().StringVar(&id, "id", "", "the webhook-id; default: a new one")
	_ = cmd.MarkFlagRequired("type")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(eventTypes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// notification makes the headers, in the order they are printed, and the body.
func notification(kind webhook.Type, id string, data []byte, key *signer.Key, secret string) (header []string, body []byte, err error) {
	canonical, err := signer.Canonical(data)
	if err != nil {
		return nil, nil, fmt.Errorf("the data: %w", err)
	}
	var said struct {
		Status string `json:"status"`
	}
	if err := json.Unmarshal(canonical, &said); err != nil {
		return nil, nil, errors.New("the data is not a JSON object with a status that is a text")
	}
	signature, err := key.Sign(canonical)
	if err != nil {
		return nil, nil, err
	}
	body, err = signer.Notification{WebhookType: string(kind), Success: kind.Success(said.Status),
		Data: canonical, TopLevelSignature: kind.TopLevelSignature()}.Body(signature)
	if err != nil {
		return nil, nil, err
	}
	if id == "" {
		id = webhook.NewID(webhook.EventPrefix)
	}
	now := time.Now()
	tokens, err := signer.StandardSignature([]string{secret}, id, now, body)
	if err != nil {
		return nil, nil, fmt.Errorf("--secret: %w", err)
	}
	return []string{
		signer.HeaderID + ": " + id,
		signer.HeaderTimestamp + ": " + strconv.FormatInt(now.Unix(), 10),
		signer.HeaderSignature + ": " + tokens,
	}, body, nil
}

// curl prints a request as a line for a shell.
func (c *cli) curl(url string, header []string, body []byte) error {
	var b strings.Builder
	b.WriteString("curl -sS " + quoteShell(url) + " -H 'Content-Type: application/json'")
	for _, h := range header {
		b.WriteString(" \\\n  -H " + quoteShell(h))
	}
	b.WriteString(" \\\n  --data-binary " + quoteShell(string(body)))
	_, err := fmt.Fprintln(c.out, b.String())
	return err
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
