// Package mail carries letters with one-time codes to a mail server.
//
// partners writes the letters and says when; only who sets up the mail server
// has to know how they get there.
package mail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"ledgerhook/partners"
)

// Carrier makes one attempt to bring a letter to its addressee. An error that
// wraps ErrUndeliverable is not tried again.
type Carrier interface {
	Carry(ctx context.Context, l partners.Letter) error
}

// ErrUndeliverable marks a letter that no further attempt will deliver.
var ErrUndeliverable = errors.New("the letter cannot be delivered")

const (
	maxLetters   = 1000 // on their way; more are dropped
	maxCarriers  = 4    // attempts at a time
	carryTimeout = 20 * time.Second
)

// retryWaits are the waits between the attempts, all well within partners.CodeLife.
var retryWaits = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// Result is what became of an attempt to send a letter.
type Result string

// What can become of a letter.
const (
	Sent   Result = "sent"
	Failed Result = "failed" // and is tried again
	Lost   Result = "lost"   // given up
)

// Results lists every Result.
var Results = []Result{Sent, Failed, Lost}

// Postman is a partners.Mailer: it carries letters in the background and tries each a
// few times. A letter that is lost with the process is asked for again.
type Postman struct {
	carrier Carrier
	log     *slog.Logger
	count   func(Result)
	attempt chan struct{} // holds one token per attempt

	ctx    context.Context // ends when nothing may be waited for any more
	cancel context.CancelFunc

	mu      sync.Mutex
	letters int
	closing bool
	hurry   chan struct{} // closed with closing: no more waits between attempts
	idle    chan struct{} // closed when closing and no letter is left
}

// NewPostman returns a postman that hands every letter to carrier.
func NewPostman(carrier Carrier, log *slog.Logger) *Postman {
	ctx, cancel := context.WithCancel(context.Background())
	return &Postman{
		carrier: carrier, log: log, count: func(Result) {}, attempt: make(chan struct{}, maxCarriers),
		ctx: ctx, cancel: cancel, hurry: make(chan struct{}), idle: make(chan struct{}),
	}
}

// Open returns the postman for smtpURL (LEDGERHOOK_SMTP_URL). Without one
// letters go to mailbox, the operators' own, and the log says so.
func Open(smtpURL string, mailbox Carrier, log *slog.Logger, count func(Result)) (*Postman, error) {
	if smtpURL == "" {
		log.Warn("there is no mail server (LEDGERHOOK_SMTP_URL): one-time codes go to the development mailbox at /ops/mailbox")
		return NewPostman(mailbox, log), nil
	}
	carrier, err := NewSMTP(smtpURL)
	if err != nil {
		return nil, err
	}
	p := NewPostman(carrier, log)
	p.count = count
	return p, nil
}

// Send implements partners.Mailer.
func (p *Postman) Send(l partners.Letter) {
	p.mu.Lock()
	room := p.letters < maxLetters && !p.closing
	if room {
		p.letters++
	}
	p.mu.Unlock()
	if !room {
		p.count(Lost)
		p.log.Warn("a one-time code was not sent: too many wait to be sent", "partner", l.To.PartnerCode)
		return
	}
	go func() {
		defer p.leave()
		p.deliver(l)
	}()
}

func (p *Postman) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.letters--; p.letters == 0 && p.closing {
		close(p.idle)
	}
}

func (p *Postman) deliver(l partners.Letter) {
	err := p.try(l)
	for i, wait := range retryWaits {
		if err == nil || errors.Is(err, ErrUndeliverable) || p.ctx.Err() != nil {
			break
		}
		p.count(Failed)
		if i == 0 { // the last try is minutes away, and by then nobody waits for the code any more
			p.log.Warn("mail cannot be sent just now; sending a one-time code is retried", "partner", l.To.PartnerCode, "error", err)
		}
		p.pause(wait)
		err = p.try(l)
	}
	if err == nil {
		p.count(Sent)
	} else {
		p.count(Lost)
		p.log.Warn("a one-time code was not sent", "partner", l.To.PartnerCode, "error", err)
	}
}

func (p *Postman) try(l partners.Letter) error {
	select {
	case p.attempt <- struct{}{}:
		defer func() { <-p.attempt }()
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	ctx, cancel := context.WithTimeout(p.ctx, carryTimeout)
	defer cancel()
	return p.carrier.Carry(ctx, l)
}

func (p *Postman) pause(wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.hurry:
	}
}

// Close takes no more letters and carries those it has, without waits between
// attempts, until ctx ends. It may be called once.
func (p *Postman) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closing = true
	close(p.hurry)
	if p.letters == 0 {
		close(p.idle)
	}
	p.mu.Unlock()
	defer p.cancel()
	select {
	case <-p.idle:
	case <-ctx.Done():
		p.cancel()
		<-p.idle
	}
	return nil
}
