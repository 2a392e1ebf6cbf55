package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"ledgerhook/signer"
)

func (c *cli) keygen() *cobra.Command {
	var bits int
	var out string
	cmd := &cobra.Command{
		Use:   "keygen --out FILE",
		Short: "Make an RSA key pair",
		Long: `Makes an RSA key pair and writes it as PEM: the private key to FILE, readable by
its owner alone, and the public key beside it, to FILE with .pub.pem at its end.
Files that exist are never overwritten.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if bits != 2048 && bits != 3072 && bits != 4096 {
				return usage("--bits must be 2048, 3072 or 4096")
			}
			publicFile := strings.TrimSuffix(out, ".pem") + ".pub.pem"
			if _, err := os.Lstat(publicFile); err == nil {
				return fmt.Errorf("%s exists; keys are never overwritten", publicFile)
			}
			key, err := signer.GenerateKey(bits)
			if err != nil {
				return err
			}
			if err := writeNew(out, key.PrivatePEM(), 0o600); err != nil {
				return err
			}
			if err := writeNew(publicFile, key.PublicPEM(), 0o644); err != nil {
				return err
			}
			t := c.table()
			t.field("private key", out)
			t.field("public key", publicFile)
			t.field("key id", key.ID())
			return t.flush()
		},
	}
	cmd.Flags().IntVar(&bits, "bits", 2048, "2048, 3072 or 4096")
	cmd.Flags().StringVar(&out, "out", "", "where the private key goes")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}

// writeNew writes a file that does not exist yet.
func writeNew(name string, content []byte, mode fs.FileMode) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; keys are never overwritten", name)
	}
	if err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
