-- +goose Up
-- PostgreSQL gathers statistics by itself; see SQLite's step of this number.

-- +goose Down
