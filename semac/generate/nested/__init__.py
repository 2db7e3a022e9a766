"""Operations behind guards whose operands are operations behind guards."""
