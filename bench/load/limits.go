package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"ledgerhook/signer"
)

// signing measures how many RSA-2048 signatures all processors together make
// in a second, and the processor time of one.
func signing(lasts time.Duration) (perSecond float64, each time.Duration, err error) {
	key, err := signer.GenerateKey(2048)
	if err != nil {
		return 0, 0, err
	}
	var made atomic.Int64
	var signers sync.WaitGroup
	used, began := ownCPU(), time.Now()
	for range runtime.GOMAXPROCS(0) {
		signers.Go(func() {
			for n := 0; time.Since(began) < lasts; n++ {
				if _, err := key.Sign(fmt.Append(nil, "notification ", n)); err != nil {
					panic(err) // with a key of our own making
				}
				made.Add(1)
			}
		})
	}
	signers.Wait()
	took := time.Since(began)
	return float64(made.Load()) / took.Seconds(), (ownCPU() - used) / time.Duration(made.Load()), nil
}
