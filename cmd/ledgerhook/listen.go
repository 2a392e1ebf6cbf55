package main

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/app"
	"ledgerhook/app/receiver"
	"ledgerhook/config"
	"ledgerhook/signer"
)

func (c *cli) listen() *cobra.Command {
	var addr, keyFile string
	var secrets []string
	answer := receiver.OK
	var failFirst int
	var whole bool
	cmd := &cobra.Command{
		Use:   "listen",
		Short: "Receive notifications: verify, print, and answer as configured",
		Long: `Runs a receiver for a partner's developer. Every POST to any path is verified
with the gateway's public key and the partner's webhook secret, as far as they
are given, printed, and answered as told; one that does not verify gets 401.
With neither, nothing is verified and every POST is answered as told.`,
		Example: `  ledgerhook listen --public-key gateway.pub.pem --secret whsec_…
  ledgerhook listen --fail-first 2          # 503 twice for every id, then 200
  ledgerhook listen --status 200 --delay 20s`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if answer.Status < 200 || answer.Status > 599 {
				return usage("--status must be 200 to 599")
			}
			if failFirst < 0 || answer.Delay < 0 {
				return usage("--fail-first and --delay must not be negative")
			}
			if answer.Status != http.StatusOK {
				answer.Header, answer.Body = nil, ""
			}
			public, err := readPublicKey(keyFile)
			if err != nil {
				return err
			}
			if err := checkSecrets(secrets); err != nil {
				return err
			}
			failure := receiver.Answer{Status: http.StatusServiceUnavailable, Delay: answer.Delay}
			p := &printer{cli: c, whole: whole, coloured: c.coloured(c.out), rsa: public != nil, standard: len(secrets) > 0}
			r := receiver.New(receiver.Options{PublicKey: public, Secrets: secrets,
				Answer: receiver.FailFirst(failFirst, failure, answer), Observe: p.print})
			return c.receive(cmd.Context(), addr, r, p)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:9000", "where to listen; :9000 also accepts other machines")
	cmd.Flags().StringVar(&keyFile, "public-key", "", "the gateway's public key, a PEM file")
	cmd.Flags().StringArrayVar(&secrets, "secret", nil, "a webhook secret, whsec_…; may be given more than once")
	cmd.Flags().IntVar(&answer.Status, "status", answer.Status, "the status code to answer")
	cmd.Flags().DurationVar(&answer.Delay, "delay", 0, "how long to wait before answering")
	cmd.Flags().IntVar(&failFirst, "fail-first", 0, "answer 503 to the first N requests of every id")
	cmd.Flags().BoolVar(&whole, "body", false, "print the bodies as they arrived, not just the data")
	_ = cmd.MarkFlagFilename("public-key", "pem")
	return cmd
}

// readPublicKey reads a PEM file; without a name there is no key.
func readPublicKey(file string) (*rsa.PublicKey, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read --public-key: %w", err)
	}
	key, err := signer.ParsePublicKey(text)
	if err != nil {
		return nil, fmt.Errorf("--public-key %s: %w", file, err)
	}
	return key, nil
}

func checkSecrets(secrets []string) error {
	for _, s := range secrets {
		if _, err := signer.ParseWebhookSecret(s); err != nil {
			return usage("--secret: %w", err)
		}
	}
	return nil
}

// receive serves r until ctx ends, which is how a listener is meant to end.
func (c *cli) receive(ctx context.Context, addr string, r http.Handler, p *printer) error {
	app.TakeStandardLog(c.logger(config.Config{}))
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	if !p.rsa && !p.standard {
		r = withID(r)
	}
	// A handler that delays its answer ends with ctx.
	server := &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	c.say("listening on http://%s, every path; Ctrl-C ends it", loopback(l.Addr().String()))
	if !p.rsa && !p.standard {
		c.say("nothing is verified: give --public-key, --secret or both")
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	c.say("%s", p.summary())
	return nil
}

// noID is the id of a request without one, which only a listener that verifies
// nothing takes.
const noID = "-"

// withID lets next take requests without a webhook-id too, as curl sends them.
// All of them count as one id.
func withID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get(signer.HeaderID) == "" {
			req.Header.Set(signer.HeaderID, noID)
		}
		next.ServeHTTP(w, req)
	})
}

// loopback is where this machine reaches a listener that takes all addresses.
func loopback(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return addr
}

// indent puts the second line of a request under the first one's answer.
const indent = "          "

// printer shows requests as they come.
type printer struct {
	*cli
	whole         bool // print bodies as they came
	coloured      bool
	rsa, standard bool // what is checked

	mu       sync.Mutex
	requests int
	refused  int
}

func (p *printer) in(k colour, s string) string {
	if p.coloured {
		return k.paint(s)
	}
	return s
}

func (p *printer) check(checked, right bool, name string) string {
	switch {
	case !checked:
		return ""
	case right:
		return p.in(green, "✓ "+name) + "  "
	}
	return p.in(red, "✗ "+name) + "  "
}

func (p *printer) print(got receiver.Received) {
	status := p.in(green, fmt.Sprint(got.Status))
	if got.Status >= 300 {
		status = p.in(red, fmt.Sprint(got.Status))
	}
	var notes []string
	if got.Attempt > 0 {
		notes = append(notes, fmt.Sprintf("attempt %d", got.Attempt))
	}
	if got.Times > 1 && got.ID != noID {
		notes = append(notes, fmt.Sprintf("seen %d times", got.Times))
	}
	if got.Err == nil && !got.SameBytes && got.ID != noID {
		notes = append(notes, p.in(red, "other bytes than before"))
	}
	line := fmt.Sprintf("%s  %s  %-26s  %-30s  %s%s%s\n", p.in(grey, got.At.Format("15:04:05")), status,
		plain(got.Type), plain(got.ID), p.check(p.rsa, got.VerifiedRSA, "rsa"),
		p.check(p.standard, got.VerifiedStandard, "standard"), strings.Join(notes, ", "))
	if got.Err != nil {
		line += indent + p.in(red, errorLine(got.Err)) + "\n"
	}
	line += indent + p.in(grey, plain(p.shown(got.Body))) + "\n"

	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if got.Err != nil {
		p.refused++
	}
	fmt.Fprint(p.out, line)
}

// shown is what a person wants to read of a body: its data without the
// signature, which is long and checked already.
func (p *printer) shown(body []byte) string {
	var n struct {
		Data map[string]json.RawMessage `json:"data"`
	}
	if p.whole || json.Unmarshal(body, &n) != nil || n.Data == nil {
		return string(body)
	}
	delete(n.Data, "signature")
	data, err := writeJSON(n.Data)
	if err != nil {
		return string(body)
	}
	return string(data)
}

func (p *printer) summary() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return fmt.Sprintf("%d requests, %d refused because they failed verification", p.requests, p.refused)
}
