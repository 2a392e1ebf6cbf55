package main

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"os"
	"path"
	"path/filepath"
)

// archive packs the binary and the documents into a directory of that name.
func (r *release) archive(binary, to, dir string) (err error) {
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(zipped)
	defer func() { err = errors.Join(err, packed.Close(), zipped.Close(), file.Close()) }()
	add := func(from, name string, mode int64) error {
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		header := tar.Header{Name: path.Join(dir, name), Mode: mode, Size: int64(len(content)), ModTime: r.at, Format: tar.FormatUSTAR}
		if err := packed.WriteHeader(&header); err != nil {
			return err
		}
		_, err = packed.Write(content)
		return err
	}
	if err := add(binary, "ledgerhook", 0o755); err != nil {
		return err
	}
	documents, err := r.documents()
	for _, d := range documents {
		if err == nil {
			err = add(filepath.Join(r.root, d), d, 0o644)
		}
	}
	return err
}
