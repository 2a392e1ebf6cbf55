package main

import (
	"cmp"
	"context"
	"crypto/rsa"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/signer"
)

func (c *cli) verify() *cobra.Command {
	var keyFile, operation, response string
	var secrets, headers []string
	cmd := &cobra.Command{
		Use:   "verify FILE|-",
		Short: "Verify a saved notification or partner request",
		Long: `Verifies a notification: its RSA signature with the gateway's public key, its
Standard Webhooks headers with the partner's webhook secret, or both. FILE holds
the body, exactly as it came, or a whole HTTP request with its headers.
Exits 7 when a signature is wrong. The age of the timestamp is told, not judged.

With --operation it verifies a partner's request: --public-key is the partner's
and --secret its secret key. When the signature is wrong it says what was signed
instead, if that can be told. With --response it verifies the gateway's response
to an operation: --public-key is the gateway's, --secret the partner's secret key.`,
		Example: `  ledgerhook verify --public-key gateway.pub.pem body.json
  ledgerhook verify --secret whsec_… request.http
  ledgerhook verify --secret whsec_… --header 'webhook-id: evt_…' \
    --header 'webhook-timestamp: 1700000000' --header 'webhook-signature: v1,…' body.json
  ledgerhook verify --operation access-token --public-key partner.pub.pem --secret KEY body.json
  ledgerhook verify --response create-cashout --public-key gateway.pub.pem --secret KEY answer.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if keyFile == "" && len(secrets) == 0 {
				return usage("verify needs --public-key, --secret or both")
			}
			public, err := readPublicKey(keyFile)
			if err != nil {
				return err
			}
			raw, err := c.readFile(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("read what to verify: %w", err)
			}
			got, err := readCapture(raw, headers)
			if err != nil {
				return err
			}
			switch {
			case operation != "" && response != "":
				return usage("give --operation or --response, not both")
			case operation != "":
				return c.checkRequest(signer.Operation(operation), got.Body, public, secrets)
			case response != "":
				return c.checkResponse(signer.Operation(response), got.Body, public, secrets)
			}
			if err := checkSecrets(secrets); err != nil {
				return err
			}
			return c.check(cmd.Context(), got, public, secrets)
		},
	}
	cmd.Flags().StringVar(&operation, "operation", "", "the partner operation whose request FILE holds")
	cmd.Flags().StringVar(&response, "response", "", "the partner operation whose response FILE holds")
	cmd.Flags().StringVar(&keyFile, "public-key", "", "the gateway's public key, a PEM file")
	cmd.Flags().StringArrayVar(&secrets, "secret", nil, "a webhook secret, whsec_…; may be given more than once")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header of the request, 'name: value'; may be given more than once")
	_ = cmd.MarkFlagFilename("public-key", "pem")
	_ = cmd.RegisterFlagCompletionFunc("response", cobra.FixedCompletions(signedResponses(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("operation", cobra.FixedCompletions(operations(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

var (
	right = cell{"✓ right", green}
	wrong = cell{"✗ wrong", red}
)

// check prints a line for each check that was asked for.
func (c *cli) check(ctx context.Context, got signer.Capture, public *rsa.PublicKey, secrets []string) error {
	t := c.table()
	failed := false
	if public != nil {
		if c := signer.CheckNotification(ctx, []*rsa.PublicKey{public}, got.Body); c.Right {
			t.row("RSA signature", right, "by "+signer.KeyID(public))
		} else {
			failed = true
			t.row("RSA signature", wrong, rsaAdvice(c.Err))
		}
	}
	if len(secrets) > 0 {
		if c := signer.CheckStandard(ctx, secrets, got.Header, got.Body); c.Right {
			t.row("Standard Webhooks", right, standardNote(c, got.Header))
		} else {
			failed = true
			t.row("Standard Webhooks", wrong, standardAdvice(got.Header, c.Err).Error())
		}
	}
	if err := cmp.Or(ctx.Err(), t.flush()); err != nil {
		return err
	}
	if failed {
		return silent(exitBadSignature)
	}
	return nil
}

// rsaAdvice is what verify says of an RSA signature that is wrong.
func rsaAdvice(err error) string {
	if err.Error() == signer.ErrSignature.Error() {
		return "signed by another key, or data is not the signed data"
	}
	return err.Error()
}

// standardNote is what verify says of Standard Webhooks headers that are right.
func standardNote(c signer.Check, h http.Header) string {
	sent, _ := signer.SentAt(h)
	if !c.Found.None() {
		return "without the line end after the body" + age(sent)
	}
	return "sent " + clock(sent) + age(sent)
}

func standardAdvice(h http.Header, err error) error {
	for _, name := range []string{signer.HeaderID, signer.HeaderTimestamp, signer.HeaderSignature} {
		if h.Get(name) == "" {
			return fmt.Errorf("the header %s is missing: give it with --header, or a file with the whole request", name)
		}
	}
	return fmt.Errorf("%w: another secret, or the body is not exactly the one sent", err)
}

// age says so when a receiver would refuse the notification by now.
func age(sent time.Time) string {
	if old := time.Since(sent); old > signer.Tolerance || old < -signer.Tolerance {
		return fmt.Sprintf("; a receiver would refuse it now: it accepts a difference of at most %v", signer.Tolerance)
	}
	return ""
}

// checkRequest verifies the request of a partner operation.
func (c *cli) checkRequest(op signer.Operation, body []byte, public *rsa.PublicKey, secrets []string) error {
	if operationPaths[op] == "" {
		return usage("--operation must be one of %s", strings.Join(operations(), ", "))
	}
	if public == nil || len(secrets) != 1 {
		return usage("--operation needs the partner's --public-key and its secret key as --secret")
	}
	request, err := signer.ReadRequest(op, body)
	if err != nil {
		return fmt.Errorf("the request: %w", err)
	}
	t := c.table()
	err = request.Verify(secrets[0], public)
	if err == nil {
		t.row("RSA signature", right, "by "+signer.KeyID(public))
		return t.flush()
	}
	t.row("RSA signature", wrong, request.Explain(secrets[0], public).String())
	t.row(cell{"", grey}, cell{"", grey}, "signed text:")
	for _, text := range request.Candidates(secrets[0]) {
		t.row(cell{"", grey}, cell{"", grey}, text)
	}
	if err := t.flush(); err != nil {
		return err
	}
	return silent(exitBadSignature)
}

// signedResponses are the operations whose responses are signed.
func signedResponses() (names []string) {
	for _, op := range signer.Operations {
		if signer.ResponseSlots(op) != nil {
			names = append(names, string(op))
		}
	}
	return names
}

// checkResponse verifies the gateway's response to a partner operation.
func (c *cli) checkResponse(op signer.Operation, body []byte, public *rsa.PublicKey, secrets []string) error {
	if !slices.Contains(signedResponses(), string(op)) {
		return usage("--response must be one of %s", strings.Join(signedResponses(), ", "))
	}
	if public == nil || len(secrets) != 1 {
		return usage("--response needs the gateway's --public-key and the partner's secret key as --secret")
	}
	text, signature, err := signer.ReadResponse(op, body, secrets[0])
	if err != nil {
		return fmt.Errorf("the response: %w", err)
	}
	t := c.table()
	if err := signer.Verify(public, []byte(text), signature); err != nil {
		t.row("RSA signature", wrong, "another key or secret, or the body is not the one sent; signed text:")
		t.row(cell{"", grey}, cell{"", grey}, text)
		if err := t.flush(); err != nil {
			return err
		}
		return silent(exitBadSignature)
	}
	t.row("RSA signature", right, "by "+signer.KeyID(public))
	return t.flush()
}
