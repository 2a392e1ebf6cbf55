package partners

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Letter is a one-time code on its way. It is never logged.
type Letter struct {
	To   Addressee
	Code string
}

// Mailer sends letters after the request they belong to: Send never waits and
// reports nothing, so that neither an answer nor its time depends on the mail.
type Mailer interface {
	Send(Letter)
}

// Carrier makes one attempt to bring a letter to its addressee. An error that
// wraps ErrUndeliverable is not tried again.
type Carrier interface {
	Carry(ctx context.Context, l Letter) error
}

// ErrUndeliverable marks a letter that no further attempt will deliver.
var ErrUndeliverable = errors.New("the letter cannot be delivered")

const (
	maxLetters   = 1000 // on their way; more are dropped
	maxCarriers  = 4    // attempts at a time
	carryTimeout = 20 * time.Second
)

// mailWaits are the waits between the attempts, all well within CodeLife.
var mailWaits = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// MailResult is what became of an attempt to send a letter.
type MailResult string

// What can become of a letter.
const (
	MailSent   MailResult = "sent"
	MailFailed MailResult = "failed" // and is tried again
	MailLost   MailResult = "lost"   // given up
)

// MailResults lists every MailResult.
var MailResults = []MailResult{MailSent, MailFailed, MailLost}

// Postman is the Mailer: it carries letters in the background and tries each a
// few times. A letter that is lost with the process is asked for again.
type Postman struct {
	carrier Carrier
	log     *slog.Logger
	count   func(MailResult)
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
		carrier: carrier, log: log, count: func(MailResult) {}, attempt: make(chan struct{}, maxCarriers),
		ctx: ctx, cancel: cancel, hurry: make(chan struct{}), idle: make(chan struct{}),
	}
}

// Send implements Mailer.
func (p *Postman) Send(l Letter) {
	p.mu.Lock()
	room := p.letters < maxLetters && !p.closing
	if room {
		p.letters++
	}
	p.mu.Unlock()
	if !room {
		p.count(MailLost)
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

func (p *Postman) deliver(l Letter) {
	err := p.try(l)
	for i, wait := range mailWaits {
		if err == nil || errors.Is(err, ErrUndeliverable) || p.ctx.Err() != nil {
			break
		}
		p.count(MailFailed)
		if i == 0 { // the last try is minutes away, and by then nobody waits for the code any more
			p.log.Warn("mail cannot be sent just now; sending a one-time code is retried", "partner", l.To.PartnerCode, "error", err)
		}
		p.pause(wait)
		err = p.try(l)
	}
	if err == nil {
		p.count(MailSent)
	} else {
		p.count(MailLost)
		p.log.Warn("a one-time code was not sent", "partner", l.To.PartnerCode, "error", err)
	}
}

func (p *Postman) try(l Letter) error {
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
