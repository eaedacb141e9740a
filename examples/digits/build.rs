luminal::models!("src/model.rs": classify);
