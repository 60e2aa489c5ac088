# The scenarios of SCENARIOS.md for Cap'n Proto.
@0xb8c3f1a27d5e4906;

using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("cp");

struct Message {
  a @0 :Bool;
  b @1 :Bool;
  x @2 :Int32;
  y @3 :Int32;
  id @4 :Int64;
  score @5 :Float64;
  s @6 :Text;
  t @7 :Text;
}

struct Batch { messages @0 :List(Message); }

struct Transaction {
  id @0 :Int64;
  at @1 :Int64;
  amount @2 :Int64;
  kind @3 :UInt8;
  party @4 :Text;
  memo @5 :Text;
}

struct Account {
  id @0 :Int64;
  balance @1 :Int64;
  owner @2 :Text;
  currency @3 :Text;
  transactions @4 :List(Transaction);
}

struct Entity {
  id @0 :UInt32;
  px @1 :Float32;
  py @2 :Float32;
  pz @3 :Float32;
  vx @4 :Int16;
  vy @5 :Int16;
  vz @6 :Int16;
  yaw @7 :UInt16;
  pitch @8 :UInt16;
  health @9 :UInt16;
  kind @10 :UInt8;
  team @11 :UInt8;
  flags @12 :UInt8;
}

struct Frame { entities @0 :List(Entity); }

struct Telemetry {
  device @0 :UInt32;
  at @1 :Int64;
  temperature @2 :Float64;
  hasHumidity @3 :Bool;
  humidity @4 :Float64;
  status @5 :UInt16;
  battery @6 :UInt8;
}

struct Chunk { id @0 :UInt64; sequence @1 :UInt32; data @2 :Data; }
struct Numbers { values @0 :List(Float64); }
