package delivery

import "sync"

// signatureCache remembers the RSA signatures of recent events, which retries
// and further endpoints use again. It holds two generations and drops the
// older one when the younger is full: at most about 3 MB.
type signatureCache struct {
	mu           sync.Mutex
	young, older map[string]string
}

const signatureGeneration = 4096

func newSignatureCache() *signatureCache {
	return &signatureCache{young: map[string]string{}, older: map[string]string{}}
}

func (c *signatureCache) get(eventID string) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s, ok := c.young[eventID]; ok {
		return s, true
	}
	s, ok := c.older[eventID]
	return s, ok
}

func (c *signatureCache) put(eventID, signature string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= signatureGeneration {
		c.young, c.older = map[string]string{}, c.young
	}
	c.young[eventID] = signature
}
