/* kiln--1.0--1.1.sql: what version 1.1 adds to the SQL objects of the kiln extension */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION kiln UPDATE TO '1.1'" to load this file. \quit

