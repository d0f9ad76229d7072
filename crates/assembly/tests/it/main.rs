//! What assembly promises, on made and on captured runs.

mod attempts;
mod corpus;
mod make;
mod properties;
mod recognise;
mod shapes;
mod torture;
