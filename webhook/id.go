package webhook

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// The prefixes of the gateway's ids.
const (
	EventPrefix    = "evt_"
	DeliveryPrefix = "dlv_"
	AttemptPrefix  = "att_"
	EndpointPrefix = "ep_"
	SecretPrefix   = "sec_"
	WorkerPrefix   = "wrk_"
	AuditPrefix    = "aud_"
	OrderPrefix    = "ord_"
	ReplayPrefix   = "rpl_"
	PersonPrefix   = "usr_"
	SessionPrefix  = "ses_"
	InvitePrefix   = "inv_"
	RefusalPrefix  = "ref_"
)

var idSource = struct {
	sync.Mutex
	*ulid.MonotonicEntropy
}{MonotonicEntropy: ulid.Monotonic(rand.Reader, 0)}

// NewID returns prefix and a ULID: 48 bits of milliseconds and 80 random bits.
// Ids made by one process sort in the order they were made.
func NewID(prefix string) string {
	idSource.Lock()
	defer idSource.Unlock()
	return prefix + ulid.MustNew(ulid.Now(), idSource.MonotonicEntropy).String()
}

// CheckID returns an Invalid error that names field unless id is prefix and a ULID.
func CheckID(field, prefix, id string) error {
	if len(id) == len(prefix)+ulid.EncodedSize && id[:len(prefix)] == prefix {
		if _, err := ulid.ParseStrict(id[len(prefix):]); err == nil {
			return nil
		}
	}
	return Invalid(field, fmt.Sprintf("must be an id like %s%s", prefix, "01JD0000000000000000000000"))
}

// IDTime returns when an id with prefix was made, to the millisecond; the zero
// time for what is no such id.
func IDTime(prefix, id string) time.Time {
	if CheckID("", prefix, id) != nil {
		return time.Time{}
	}
	return ulid.Time(ulid.MustParse(id[len(prefix):]).Time()).UTC()
}

// TimeBound returns the smallest id with prefix that was made at t or later.
func TimeBound(prefix string, t time.Time) string {
	var id ulid.ULID
	_ = id.SetTime(ulid.Timestamp(t)) // fails only after the year 10889
	return prefix + id.String()
}
